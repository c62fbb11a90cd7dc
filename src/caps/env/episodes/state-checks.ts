// Checks of an environment's state. They run at the first reset, so that an author learns of a mistake before a
// restart.
import { copyJson, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { toWireObject } from "../action.ts";
import type { Environment } from "../define-env.ts";

/** The observation of a state, as it is sent. */
export function wireStateOf(environment: Environment, state: unknown): JsonObject {
  return toWireObject(environment.observe === undefined ? state : environment.observe(state));
}

/** A copy of the state as JSON. Throws if the state would not be the same after it was written and read. */
export function writeState(environment: Environment, state: unknown): JsonValue {
  if (environment.snapshot !== undefined) return copyJson(environment.snapshot(state));
  // Before the check, since it throws on cycles.
  const copy = copyJson(state);
  if (!isPlain(state)) throw new Error("its state is not JSON; give it snapshot and restore");
  return copy as JsonValue;
}

/** A state that JSON cannot represent would be lost at the first restart. */
export function assertUsable(environment: Environment, state: unknown): void {
  if (environment.snapshot === undefined) writeState(environment, state);
  const shown = wireStateOf(environment, state);
  const readings: unknown[] = [shown, shown.value];
  if (!readings.some((reading) => environment.observationSpace.contains(reading)))
    throw new Error("its observation is not in its observation space");
}

function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  // `includes` finds holes of the array, which `every` skips; JSON would turn them into null.
  if (Array.isArray(value)) return !value.includes(undefined) && value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  // A field with the value undefined is the same as a missing field.
  return Object.values(value).every((field) => field === undefined || isPlain(field));
}
