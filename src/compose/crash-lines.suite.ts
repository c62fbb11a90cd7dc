// The lines that a host sends while it is killed again and again, read without a client: a client hides lines that come twice.
import { expect, test } from "vitest";
import type { Message } from "../protocol/envelope.ts";
import { useKilledHost } from "./killed-host.suite.ts";

const workers = 6;

/**
 * An agent that uses HTTP directly: resumes reading after its last line, and repeats requests without an answer, as
 * the protocol asks.
 */
class RawAgent {
  /** Numbers of the lines as they came. */
  readonly numbers: number[] = [];
  /** By request. A request that was repeated while its answer was on the way is answered again, with the same text. */
  readonly answers = new Map<string, Set<string>>();
  readonly #base: string;
  readonly #session: string;
  readonly #unanswered = new Map<string, { message: Message; resolve: (answer: Message) => void }>();
  #isOver = false;
  #asked = 0;

  private constructor(base: string, session: string) {
    this.#base = base;
    this.#session = session;
  }

  static async open(base: string): Promise<RawAgent> {
    const opened = await fetch(`${base}/session`, { method: "POST" });
    const { session_id } = (await opened.json()) as { session_id: string };
    return new RawAgent(base, session_id);
  }

  ask(fields: { type: string; [field: string]: unknown }): Promise<Message> {
    this.#asked += 1;
    const message = { id: `request-${this.#asked}`, version: "1.0", a2e: "1.0", ...fields } as Message;
    return new Promise((resolve) => {
      this.#unanswered.set(message.id, { message, resolve });
      this.#send(message);
    });
  }

  #send(message: Message): void {
    const headers = { "X-Session-Id": this.#session };
    // A request that does not arrive is sent again with the next stream.
    fetch(`${this.#base}/send`, { method: "POST", headers, body: JSON.stringify(message) }).then(
      (response) => response.text(),
      () => {},
    );
  }

  async read(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#readStream();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  end(): void {
    this.#isOver = true;
  }

  async #readStream(): Promise<void> {
    const headers = { "X-Session-Id": this.#session, "Last-Event-ID": String(this.numbers.at(-1) ?? 0) };
    const response = await fetch(`${this.#base}/stream`, { headers });
    if (response.status !== 200 || response.body === null) throw new Error(`status ${response.status}`);
    for (const { message } of this.#unanswered.values()) this.#send(message);
    let text = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (text + chunk).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) this.#take(event);
    }
  }

  #take(event: string): void {
    const number = /^id: ?(\d+)/m.exec(event)?.[1];
    const data = /^data: ?(.*)$/m.exec(event)?.[1];
    if (number === undefined || data === undefined) return;
    this.numbers.push(Number(number));
    const message = JSON.parse(data) as Message;
    const { req_id } = message;
    if (req_id === undefined || message.type.endsWith("/event")) return;
    const answers = this.answers.get(req_id) ?? new Set();
    this.answers.set(req_id, answers.add(data));
    const waiting = this.#unanswered.get(req_id);
    this.#unanswered.delete(req_id);
    waiting?.resolve(message);
  }
}

/** Defines the test with this many kills. */
export function testLinesOverKills(kills: number): void {
  const startHost = useKilledHost("crash-host.suite.ts");

  test(`over ${kills} kills of a host every line comes once, in order, and every request runs once`, {
    timeout: 60_000 + kills * 12_000,
  }, async () => {
    const host = await startHost();
    const agent = await RawAgent.open(`http://127.0.0.1:${host.port}`);
    const reading = agent.read();
    await agent.ask({ type: "handshake/req", agent_id: "by hand", agent_caps: ["env", "memory"] });
    const { obs } = await agent.ask({ type: "env/reset/req", env_name: "counter_env" });
    const { episode_id } = obs as { episode_id: string };
    const counts = { steps: 0, entries: 0, compared: 0, forks: 0 };
    let isOver = false;

    const work = async (worker: number) => {
      for (let round = worker; !isOver; round++) {
        const key = `${worker}-${round}`;
        if (round % 5 === 0) {
          const actions = [{ type: "dec" }, { type: "dec" }];
          const { results } = await agent.ask({ type: "env/batch_step/req", episode_id, actions });
          expect(results).toHaveLength(2);
          counts.steps += 2;
        } else if (round % 5 === 1) {
          expect(await agent.ask({ type: "env/step/req", episode_id, action: { type: "dec" } })).toHaveProperty("obs");
          counts.steps += 1;
        } else if (round % 5 === 2) {
          const entries = ["working", "episodic", "semantic"].map((tier) => ({ key, content: key, tier }));
          expect(await agent.ask({ type: "memory/store/req", entries })).toMatchObject({ errors: [] });
          counts.entries += 1;
        } else if (round % 5 === 3) {
          const found = await agent.ask({ type: "memory/retrieve/req", keys: ["count"], tier: "semantic" });
          const [known] = found.entries as { content: number; version: number }[];
          const entry = { key: "count", tier: "semantic", content: (known?.content ?? 0) + 1 };
          const stored = await agent.ask({
            type: "memory/store/req",
            entries: [{ ...entry, if_version: known?.version ?? 0 }],
          });
          // Another worker may have been faster.
          if (stored.type !== "error") counts.compared += 1;
          else expect(stored).toMatchObject({ code: "version_conflict" });
        } else {
          // A fork is a session that stays, so there are not many of them.
          const type = counts.forks++ < kills ? "session/fork/req" : "env/observe/req";
          expect((await agent.ask({ type })).type).not.toBe("error");
        }
      }
    };
    const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
    // Reported below, when the host is up again.
    working.catch(() => {});
    for (let count = 0; count < kills; count++) {
      const before = counts.steps;
      await expect.poll(() => counts.steps).toBeGreaterThan(before);
      await host.restartSoon();
    }
    isOver = true;
    await working;
    await host.restart();

    const observed = await agent.ask({ type: "env/observe/req", episode_id });
    expect(observed.obs).toMatchObject({ step_num: counts.steps });
    for (const tier of ["working", "episodic"]) {
      expect(await agent.ask({ type: "memory/retrieve/req", tier, limit: 1 })).toMatchObject({ total: counts.entries });
    }
    const { entries } = await agent.ask({ type: "memory/retrieve/req", keys: ["count"], tier: "semantic" });
    expect(entries).toMatchObject([{ content: counts.compared }]);
    expect(agent.numbers).toEqual(agent.numbers.map((_, index) => index + 1));
    expect([...agent.answers.values()].filter(({ size }) => size !== 1)).toEqual([]);
    expect(counts.steps).toBeGreaterThanOrEqual(kills);
    agent.end();
    await host.end();
    await reading;
  });
}
