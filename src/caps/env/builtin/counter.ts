// The counter that the protocol's documentation uses as its example.
import { defineEnv } from "../define-env.ts";
import { resetDenied } from "../problems.ts";
import { box } from "../spaces/box.ts";
import { actions, dict } from "../spaces/composite.ts";
import { optional } from "../spaces/space.ts";

const target = 10;
const maxAmount = 1000;
const amount = optional(box(0, maxAmount, { isInteger: true }));
const limit = Number.MAX_SAFE_INTEGER;

export const counter = defineEnv({
  name: "counter_env",
  description: `Count to ${target}: \`inc\` and \`dec\`, each by an amount of 1 unless told otherwise.`,
  actionSpace: actions({ inc: { amount }, dec: { amount } }),
  observationSpace: dict({ count: box(-limit, limit, { isInteger: true }) }),
  reset({ options: { count = 0 } }) {
    if (!Number.isSafeInteger(count) || (count as number) >= target)
      throw resetDenied(`count: expected a whole number below ${target}`);
    return { count: count as number };
  },
  step(state, action) {
    const by = action.amount ?? 1;
    const count = state.count + (action.type === "inc" ? by : -by);
    return { state: { count }, reward: count > 0 ? 1 : -1, done: count >= target };
  },
  plan: ({ count }) => [
    { type: "inc", amount: Math.min(maxAmount, Math.max(0, target - count)) },
    { type: "inc" },
    { type: "dec" },
  ],
  render: ({ count }, mode) => (mode === "text" ? `count: ${count}` : undefined),
});
