// The built-in functions of a reduce, by name.
import { A2EError } from "../../../../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../protocol/json.ts";
import { preview } from "./node-error.ts";

type Reducer = (items: readonly JsonValue[]) => JsonValue;

export const reducers: Readonly<Record<string, Reducer>> = {
  concat(items) {
    const there = items.filter((item) => item !== null);
    if (there.length > 0 && there.every((item) => typeof item === "string")) return there.join("");
    return there.flat(1) as JsonValue[];
  },
  sum: (items) => numbers("sum", items).reduce((sum, item) => sum + item, 0),
  min: (items) => extreme("min", items, (one, other) => one < other),
  max: (items) => extreme("max", items, (one, other) => one > other),
  merge(items) {
    const merged: JsonObject = {};
    for (const item of items) {
      if (item === null) continue;
      if (!isJsonObject(item)) throw wrongItem("merge", "objects", item);
      for (const [key, value] of Object.entries(item)) if (key !== "__proto__") merged[key] = value;
    }
    return merged;
  },
  count: (items) => items.length,
  first: (items) => items[0] ?? null,
  last: (items) => items.at(-1) ?? null,
};

function numbers(name: string, items: readonly JsonValue[]): number[] {
  return items.flatMap((item) => {
    if (item === null) return [];
    if (typeof item !== "number") throw wrongItem(name, "numbers", item);
    return [item];
  });
}

/** Of numbers, or of texts; null is ignored. */
function extreme(
  name: string,
  items: readonly JsonValue[],
  isBetter: (one: number | string, other: number | string) => boolean,
): JsonValue {
  let best: number | string | null = null;
  for (const item of items) {
    if (item === null) continue;
    if ((typeof item !== "number" && typeof item !== "string") || (best !== null && typeof best !== typeof item))
      throw wrongItem(name, "numbers, or texts", item);
    if (best === null || isBetter(item, best)) best = item;
  }
  return best;
}

function wrongItem(name: string, expected: string, item: JsonValue): A2EError {
  return new A2EError("schema_violation", `${name} takes ${expected}, not ${preview(item)}`, { retryable: false });
}
