import fc from "fast-check";
import { expect, test } from "vitest";
import { silentLogger } from "../plugin/logger.ts";
import type { Principal } from "../plugin/principal.ts";
import { budgetsOf } from "./budgets.ts";
import { FakeStore } from "./fake-store.suite.ts";
import { dayMs, Ledger } from "./ledger.ts";
import { quotaOf } from "./quota-settings.ts";

const start = 20_000 * dayMs;
const unlimited = { default: {}, roles: {}, principals: {} };
const perDay = (calls: number) => ({ ...unlimited, default: { budget: { per_day: { calls } } } });

function principal(budgets: Principal["budgets"] = []): Principal {
  return { id: "key:ci", agentId: "", isAuthenticated: true, budgets };
}

function codeOf(work: () => void): string {
  try {
    work();
    return "";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test("a daily budget is refused when it is used up, and resets at midnight UTC", () => {
  let now = start + 1000;
  const warnings: unknown[] = [];
  const log = { ...silentLogger, warn: (_text: string, fields: unknown) => void warnings.push(fields) };
  const ledger = new Ledger({ store: new FakeStore(), clock: { now: () => now }, log });
  const budgets = budgetsOf(principal(), quotaOf(perDay(10), principal()));
  for (let call = 0; call < 10; call++) ledger.charge(budgets, "calls", 1);
  expect(warnings).toHaveLength(1);
  expect(() => ledger.charge(budgets, "calls", 1)).toThrow(
    expect.objectContaining({
      code: "rate_limited",
      retryable: true,
      detail: { budget: "calls", used: 10, limit: 10, resets_at: (start + dayMs) / 1000, retry_after_ms: dayMs - 1000 },
    }),
  );
  now = start + dayMs;
  ledger.charge(budgets, "calls", 10);
  // A clock that is set back must not give the budget of the day before again.
  now = start;
  expect(codeOf(() => ledger.charge(budgets, "calls", 1))).toBe("rate_limited");
});

test("tokens are charged after their use, and refuse all calls once they are used up", () => {
  const ledger = new Ledger({ store: new FakeStore(), clock: { now: () => start }, log: silentLogger });
  const budgets = budgetsOf(principal([{ id: "t1", budget: { tokens: 100 } }]), quotaOf(unlimited, principal()));
  ledger.check(budgets);
  ledger.charge(budgets, "tokens", 250);
  expect(() => ledger.check(budgets)).toThrow(
    expect.objectContaining({ retryable: false, detail: { budget: "tokens", used: 250, limit: 100, token: "t1" } }),
  );
});

test("a charge whose turn was lost becomes part of the turn of the answer", () => {
  const store = new FakeStore();
  const ledger = new Ledger({ store, clock: { now: () => start }, log: silentLogger });
  const budgets = budgetsOf(principal([{ id: "t1", budget: { calls: 5 } }]), quotaOf(unlimited, principal()));
  ledger.charge(budgets, "calls", 2);
  store.lose();
  expect(store.durable.size).toBe(0);
  ledger.settle();
  store.commit();
  expect([...store.durable.values()]).toEqual([{ used: 2, day: 0 }]);
});

test("an amount that is not a number of at least 0 is refused", () => {
  const ledger = new Ledger({ store: new FakeStore(), clock: { now: () => start }, log: silentLogger });
  for (const amount of [-1, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => ledger.charge(new Map(), "calls", amount)).toThrow(TypeError);
});

/** A tree of tokens: token n was narrowed from `parents[n]`, or minted for the principal. */
const tree = fc
  .array(fc.record({ parent: fc.nat(), grant: fc.nat({ max: 20 }) }), { minLength: 1, maxLength: 6 })
  .map((nodes) => nodes.map(({ parent, grant }, at) => ({ parent: at === 0 ? -1 : parent % at, grant })));

const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("charge" as const), token: fc.nat(), amount: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("commit" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("kill" as const) }) },
);

test("over calls, lost turns and kills, no more is acknowledged below a token than it was granted", () => {
  fc.assert(
    fc.property(tree, fc.array(action, { maxLength: 60 }), (tokens, actions) => {
      const chainOf = (at: number): number[] => (at < 0 ? [] : [...chainOf(tokens[at]?.parent ?? -1), at]);
      const budgets = tokens.map((_, at) => {
        const of = chainOf(at).map((id) => ({ id: `t${id}`, budget: { env_steps: tokens[id]?.grant ?? 0 } }));
        return budgetsOf(principal(of), quotaOf(unlimited, principal()));
      });
      const acknowledged = tokens.map(() => 0);
      // Charges whose answers wait for the end of the turn.
      let waiting: { token: number; amount: number }[] = [];
      let store = new FakeStore();
      const open = () => new Ledger({ store, clock: { now: () => start }, log: silentLogger });
      let ledger = open();
      for (const step of actions) {
        if (step.kind === "charge") {
          const token = step.token % tokens.length;
          if (codeOf(() => ledger.charge(budgets[token] as never, "env_steps", step.amount)) === "")
            waiting.push({ token, amount: step.amount });
        } else if (step.kind === "commit") {
          ledger.settle();
          store.commit();
          for (const { token, amount } of waiting)
            for (const at of chainOf(token)) acknowledged[at] = (acknowledged[at] ?? 0) + amount;
          waiting = [];
        } else if (step.kind === "lose") store.lose();
        else {
          store = store.killed();
          ledger = open();
          waiting = [];
        }
        tokens.forEach(({ grant }, at) => {
          expect(acknowledged[at]).toBeLessThanOrEqual(grant);
          expect(store.durable.get(`env_steps/all/token/t${at}`)?.used ?? 0).toBeGreaterThanOrEqual(
            acknowledged[at] ?? 0,
          );
        });
      }
    }),
    { numRuns: 300 },
  );
});
