// Kills a loaded host again and again. Afterwards everything that was acknowledged must be there, and no call may have
// run twice.
import { expect, test } from "vitest";
import { connect } from "./connect-node.ts";
import { useKilledHost } from "./killed-host.suite.ts";

const workers = 8;

/** Defines the test with this many kills. */
export function testKills(kills: number): void {
  const startHost = useKilledHost("crash-host.suite.ts");

  test(`after ${kills} kills of a host at random moments no acknowledged result is lost and no call has run twice`, {
    timeout: 60_000 + kills * 12_000,
  }, async () => {
    const host = await startHost();
    const client = await connect(`http://127.0.0.1:${host.port}`, {
      agentId: "survivor",
      reconnect: { initialBackoffMs: 10, maxBackoffMs: 100 },
      timeoutMs: 0,
    });
    const { obs } = await client.env.reset({ env_name: "counter_env", options: {} });
    const { plan_id } = await client.planning.createPlan({ name: "survive" });
    const counts = { steps: 0, tasks: 0, working: 0, episodic: 0 };
    let isOver = false;

    const work = async (worker: number) => {
      for (let round = 0; !isOver; round++) {
        const name = `${worker}-${round}`;
        const choice = round % 4;
        if (choice === 0) {
          await client.env.step({ episode_id: obs.episode_id, action: { type: "dec" } });
          counts.steps += 1;
        } else if (choice === 1) {
          await client.planning.addTask({ plan_id, title: name });
          counts.tasks += 1;
        } else {
          const tier = choice === 2 ? "working" : "episodic";
          const stored = await client.memory.store({ entries: [{ key: name, content: name, tier }] });
          expect(stored.errors).toEqual([]);
          counts[tier] += 1;
        }
      }
    };
    const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));

    for (let count = 0; count < kills; count++) {
      const before = counts.steps;
      await expect.poll(() => counts.steps).toBeGreaterThan(before);
      await host.restartSoon();
    }
    isOver = true;
    await working;
    await host.restart();

    const observed = await client.env.observe({ episode_id: obs.episode_id });
    const titles: string[] = [];
    for (let total = 1; titles.length < total; ) {
      const page = await client.planning.listTasks({ plan_id, offset: titles.length });
      titles.push(...page.tasks.map(({ title }) => title));
      total = page.total;
    }
    const episodic = await client.memory.retrieve({ tier: "episodic", limit: 1 });
    const recent = await client.memory.retrieve({ tier: "working", limit: 1 });
    expect(observed.obs.step_num).toBe(counts.steps);
    expect(observed.obs.state).toMatchObject({ count: -counts.steps });
    expect(new Set(titles).size).toBe(titles.length);
    expect(titles.length).toBe(counts.tasks);
    expect(episodic.total).toBe(counts.episodic);
    expect(recent.total).toBe(counts.working);
    expect(counts.steps).toBeGreaterThanOrEqual(kills);
    await client.disconnect();
    await host.end();
  });
}
