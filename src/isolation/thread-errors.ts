import { A2EError, type ErrorJson, toErrorJson } from "../protocol/errors.ts";

/**
 * An error of a plugin as its thread sends it. If the agent must not see the error, its message is its stack, for the
 * log.
 */
export function toThreadError(thrown: unknown): ErrorJson {
  const json = toErrorJson(thrown);
  if (!(thrown instanceof Error) || thrown instanceof A2EError || typeof thrown.stack !== "string") return json;
  return { ...json, message: thrown.stack };
}
