import type { LogFields, Logger } from "./logger.ts";

/** Long enough for whoever waits to wonder whether anything happens. */
const slowMs = 10_000;

/** Repeats a warning while the work is not done: a host that waits for it would look like one that does nothing. */
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
