// What the host relies on in an environment's state, told at the first reset and not at the first restart.
import { copyJson, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { toWireObject } from "../action.ts";
import type { Environment } from "../define-env.ts";

/** What stands on the wire for a state. */
export function wireStateOf(environment: Environment, state: unknown): JsonObject {
  return toWireObject(environment.observe === undefined ? state : environment.observe(state));
}

/** As JSON that nothing else refers to. Throws on a state that would come back as another. */
export function writeState(environment: Environment, state: unknown): JsonValue {
  if (environment.snapshot !== undefined) return copyJson(environment.snapshot(state));
  // First, since it throws on cycles.
  const copy = copyJson(state);
  if (!isPlain(state)) throw new Error("its state is not JSON; give it snapshot and restore");
  return copy as JsonValue;
}

/** A state that JSON cannot carry would be lost at the first restart. */
export function assertUsable(environment: Environment, state: unknown): void {
  if (environment.snapshot === undefined) writeState(environment, state);
  const shown = wireStateOf(environment, state);
  const readings: unknown[] = [shown, shown.value];
  if (!readings.some((reading) => environment.observationSpace.contains(reading)))
    throw new Error("what it shows is not in its observation space");
}

function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  // Asked for by name, since `every` skips what was never set, and JSON has null for it.
  if (Array.isArray(value)) return !value.includes(undefined) && value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  // A field that is undefined reads the same where it is missing.
  return Object.values(value).every((field) => field === undefined || isPlain(field));
}
