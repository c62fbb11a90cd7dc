// @ts-check
// A plugin that anyone could write: it imports only public modules, and keeps its value in `context.state`, so that the value
// survives restarts, snapshots and forks.
import { plugin } from "a2e/host";
import { z } from "zod";
import { counter, thresholdReached } from "./counter-table.js";

const optionsSchema = z.object({ threshold: z.int().min(1).default(10) });

/**
 * The function that `cls` in a config names.
 *
 * @param {{ threshold?: number }} options
 */
export function createCounter(options) {
  const { threshold } = optionsSchema.parse(options);
  return plugin(counter, {
    session({ push, state }) {
      const read = () => Number(state.get("value") ?? 0);
      return {
        handlers: {
          add({ amount }) {
            const before = read();
            const value = before + amount;
            if (!Number.isSafeInteger(value))
              throw counter.error("counter_overflow", `${before} + ${amount} is too much`);
            state.set("value", value);
            if (before < threshold && value >= threshold) push(thresholdReached, { value, threshold });
            return { value };
          },
          get: () => ({ value: read() }),
        },
      };
    },
  });
}
