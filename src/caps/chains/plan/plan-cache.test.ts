import { expect, test } from "vitest";
import { createExpressionParser } from "../expressions/expression.ts";
import { chainLimits } from "../limits.ts";
import { PlanCache } from "./plan-cache.ts";

function createCache(maxPlans: number) {
  return new PlanCache({ parse: createExpressionParser(), maxNodes: 10 }, maxPlans);
}

const chain = (node_id: string, text = "") => [{ node_id, kind: "tool", name: "t", input: { text } }];

test("a chain that is sent again is not compiled again, until it is evicted", () => {
  const cache = createCache(2);
  const first = cache.compile(chain("a"), "");

  expect(cache.compile(chain("a"), "")).toBe(first);
  cache.compile(chain("b"), "");
  cache.compile(chain("c"), "");
  expect(cache.compile(chain("a"), "")).not.toBe(first);
});

test("a very large chain is not cached", () => {
  const cache = createCache(2);
  const large = () => chain("a", "x".repeat(chainLimits.maxPlanBytes));

  expect(cache.compile(large(), "")).not.toBe(cache.compile(large(), ""));
});
