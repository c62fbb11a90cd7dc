// Translates between the ways in which agents write actions and the action space of an environment.
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import { isRecord, type Space } from "./spaces/space.ts";

/**
 * Finds the action of the space that `given` stands for, or returns undefined. Agents send an action bare, as `{ value
 * }` (an SDK sends objects only), as `{ type, … }`, or as `{ action_type, payload, metadata }`.
 */
export function toAction(space: Space, given: JsonValue): unknown {
  if (space.contains(given)) return given;
  if (isRecord(given)) {
    for (const reading of readings(given as JsonObject)) if (space.contains(reading)) return reading;
    return undefined;
  }
  // A bare name is an action without fields.
  return typeof given === "string" && space.contains({ type: given }) ? { type: given } : undefined;
}

function* readings(given: JsonObject): Generator<unknown> {
  const { action_type, type, payload, metadata: _metadata, ...rest } = given;
  if ("value" in given) yield given.value;
  const name = action_type ?? type;
  const fields = isRecord(payload) ? { ...rest, ...payload } : rest;
  if (typeof name === "string") {
    yield { ...fields, type: name };
    if (Object.keys(fields).length === 0) yield name;
  }
  if (payload !== undefined) {
    yield payload;
    if (isRecord(payload) && "value" in payload) yield payload.value;
  }
  const values = Object.values(fields);
  // A command for an environment that reads text: `{ action_type: "go", payload: { direction: "north" } }` is "go
  // north".
  if (typeof name === "string" && values.every((value) => typeof value === "string")) yield [name, ...values].join(" ");
  if (values.length === 1) yield values[0];
}

/** An action or an observation as it is sent: objects as they are, any other value as `{ value }`. */
export function toWireObject(value: unknown): JsonObject {
  return isRecord(value) ? (value as JsonObject) : { value: value as JsonValue };
}

/** The JSON Schema of the objects that `toWireObject` returns for a space with this schema. */
export function wireSchema(schema: JsonObject): JsonObject {
  if (schema.type === "object" || "oneOf" in schema) return schema;
  return { type: "object", properties: { value: schema }, required: ["value"], additionalProperties: false };
}
