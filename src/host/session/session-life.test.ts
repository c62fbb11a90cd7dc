import fc from "fast-check";
import { expect, test } from "vitest";
import { echo, probePlugin, startRawHost } from "./raw-session.suite.ts";
import { type LifeEvent, type LifeState, SessionLife, transitions } from "./session-life.ts";

const events: LifeEvent[] = ["admit", "end", "leave", "finish", "drop"];
const anyEvents = fc.array(fc.constantFrom(...events), { maxLength: 20 });
const anyStart = fc.constantFrom("new" as const, "continued" as const);

test("a life makes exactly the transitions of its table", () => {
  fc.assert(
    fc.property(anyStart, anyEvents, (start, sequence) => {
      const life = new SessionLife(start);
      for (const event of sequence) {
        const before: LifeState = life.state;
        const next = transitions[before][event];
        expect(life.apply(event)).toBe(next !== undefined);
        expect(life.state).toBe(next ?? before);
      }
    }),
  );
});

test("a closed life stays closed, and closing begins once", () => {
  fc.assert(
    fc.property(anyStart, anyEvents, (start, sequence) => {
      const life = new SessionLife(start);
      let closings = 0;
      for (const event of sequence) {
        const wasClosed = life.isClosed;
        if (life.apply(event) && (event === "end" || event === "leave")) closings += 1;
        if (wasClosed) expect(life.isClosed).toBe(true);
      }
      expect(closings).toBeLessThanOrEqual(1);
      if (life.isClosed) for (const event of events) expect(life.apply(event)).toBe(false);
    }),
  );
});

test("every state can be reached, and every state that is not closed can be left", () => {
  const reached = new Set<LifeState>(["new", "continued"]);
  for (const state of reached) for (const next of Object.values(transitions[state])) reached.add(next);
  expect(reached).toEqual(new Set(Object.keys(transitions)));
});

type Step = "handshake" | "request" | "ping" | "close" | "goodbye";

test("whatever an agent and its host do, a session closes once, and no request runs in it afterwards", async () => {
  const steps = fc.array(fc.constantFrom<Step>("handshake", "request", "ping", "close", "goodbye"), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      let isClosed = false;
      let ranLate = 0;
      const run: typeof echo = (request, call) => {
        if (isClosed) ranLate += 1;
        return echo(request, call);
      };
      await using raw = await startRawHost([probePlugin(run)]);
      const peer = raw.connect();
      const { session } = peer;
      let closings = 0;
      session.onClosed(() => {
        isClosed = true;
        closings += 1;
      });
      for (const [index, step] of sequence.entries()) {
        if (step === "handshake") void peer.shakeHands();
        else if (step === "request") peer.request(`${index}`, "x");
        else if (step === "ping") peer.send({ type: "ping", id: `${index}` });
        else if (step === "close") void session.close();
        else peer.send({ type: "shutdown", id: `${index}`, timeout: 0 });
      }
      await session.close();
      peer.request("late", "x");
      expect([closings, ranLate, session.status, session.pendingCalls]).toEqual([1, 0, "closed", 0]);
      expect(raw.host.sessions.size).toBe(0);
    }),
    { numRuns: 30 },
  );
});
