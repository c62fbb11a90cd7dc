// The first difference between two lines.
import { handshake, shutdownReport } from "../protocol/core.ts";
import type { JsonObject, JsonValue } from "../protocol/json.ts";

export interface Difference {
  /** As in `data.items[2].name`; "" for the whole message. */
  readonly field: string;
  /** Absent if there is no such field. */
  readonly expected?: JsonValue;
  readonly found?: JsonValue;
}

/** A recorded line without the checkpoint of the host's audit log: a replay writes no audit log. */
export function withoutCheckpoint(line: string): string {
  if (!line.includes('"audit":{')) return line;
  const { audit: _, ...message } = JSON.parse(line) as JsonObject;
  const { type } = message;
  return type === handshake.responseType || type === shutdownReport.type ? JSON.stringify(message) : line;
}

/** The first field that differs; undefined if the lines are identical to the byte. */
export function findDifference(expected: string, found: string): Difference | undefined {
  if (expected === found) return undefined;
  const parsed = [JSON.parse(expected), JSON.parse(found)] as [JsonValue, JsonValue];
  // The same fields in another order, or another spelling of a number: only the lines as text differ.
  return compare(...parsed, "") ?? { field: "", expected, found };
}

function compare(expected: JsonValue | undefined, found: JsonValue | undefined, field: string): Difference | undefined {
  if (expected === found) return undefined;
  if (Array.isArray(expected) && Array.isArray(found)) {
    const length = Math.max(expected.length, found.length);
    for (let index = 0; index < length; index++) {
      const inner = compare(expected[index], found[index], `${field}[${index}]`);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  if (isObject(expected) && isObject(found)) {
    for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      const inner = compare(expected[name], found[name], field === "" ? name : `${field}.${name}`);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  return {
    field,
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
  };
}

function isObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
