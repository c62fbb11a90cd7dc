// @ts-check
// A plugin as anybody can write one: only public imports, state per session, and a state that survives a restore.
import { plugin } from "a2e/host";
import { z } from "zod";
import { counter, thresholdReached } from "./counter-table.js";

const optionsSchema = z.object({ threshold: z.int().min(1).default(10) });
const stateSchema = z.object({ value: z.int() });

/**
 * What `cls` of a config names.
 *
 * @param {{ threshold?: number }} options
 */
export function createCounter(options) {
  const { threshold } = optionsSchema.parse(options);
  return plugin(counter, {
    stateVersion: 1,
    session({ push }) {
      let value = 0;
      return {
        handlers: {
          add({ amount }) {
            const sum = value + amount;
            if (!Number.isSafeInteger(sum)) throw counter.error("counter_overflow", `${value} + ${amount} is too much`);
            const isPassed = value < threshold && sum >= threshold;
            value = sum;
            if (isPassed) push(thresholdReached, { value, threshold });
            return { value };
          },
          get: () => ({ value }),
        },
        snapshot: () => ({ value }),
        restore(state) {
          value = stateSchema.parse(state).value;
        },
      };
    },
  });
}
