import { A2EError, type ErrorJson, toErrorJson } from "../protocol/errors.ts";

/** An error of a plugin as its thread sends it. One that the agent does not see has its stack for a message, for the log. */
export function toThreadError(thrown: unknown): ErrorJson {
  const json = toErrorJson(thrown);
  if (!(thrown instanceof Error) || thrown instanceof A2EError || typeof thrown.stack !== "string") return json;
  return { ...json, message: thrown.stack };
}
