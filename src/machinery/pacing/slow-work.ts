import type { LogFields, Logger } from "../../plugin/logger.ts";

/** The time between two warnings. */
const slowMs = 10_000;

/** Repeats a warning until the work is done, so that an operator sees which plugin delays the start of the host. */
export async function warnWhileSlow<Value>(
  work: Value | PromiseLike<Value>,
  log: Logger,
  message: string,
  fields: LogFields,
): Promise<Value> {
  const warning = setInterval(() => log.warn(message, fields), slowMs);
  try {
    return await work;
  } finally {
    clearInterval(warning);
  }
}
