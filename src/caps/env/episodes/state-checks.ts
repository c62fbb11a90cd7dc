// What the host relies on in an environment's state, told at the first reset and not at the first restart.
import type { JsonObject } from "../../../protocol/json.ts";
import { toWireObject } from "../action.ts";
import type { Environment } from "../define-env.ts";

/** What stands on the wire for a state. */
export function wireStateOf(environment: Environment, state: unknown): JsonObject {
  return toWireObject(environment.observe === undefined ? state : environment.observe(state));
}

/** A state that JSON cannot carry would be lost at the first restart. */
export function assertUsable(environment: Environment, state: unknown): void {
  if (environment.snapshot === undefined && !(JSON.stringify(state) !== undefined && isPlain(state)))
    throw new Error("its state is not JSON; give it snapshot and restore");
  const shown = wireStateOf(environment, state);
  const readings: unknown[] = [shown, shown.value];
  if (!readings.some((reading) => environment.observationSpace.contains(reading)))
    throw new Error("what it shows is not in its observation space");
}

function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return typeof value !== "undefined" && typeof value !== "function";
  if (Array.isArray(value)) return value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(isPlain);
}
