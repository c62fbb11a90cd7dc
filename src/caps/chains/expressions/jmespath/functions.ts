// The functions of JMESPath. Each declares its arguments, which are checked before it runs, and spends steps for its
// result.
import { isLargerThan } from "../../../../machinery/validation/json-size.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../protocol/json.ts";
import type { Work } from "../work.ts";
import { type Argument, type ArgumentKind, Lambda, type QueryFunction } from "./query-function.ts";
import { textFunctions } from "./text-functions.ts";
import { compareTexts, isEqual, kindOf } from "./values.ts";

const listFunctions: Record<string, QueryFunction> = {
  contains: {
    takes: [["string", "array"], ["any"]],
    run([within, item]: [string | JsonValue[], JsonValue], work) {
      if (Array.isArray(within)) return within.some((candidate) => isEqual(candidate, item, work));
      work.spendText(within.length);
      return typeof item === "string" && within.includes(item);
    },
  },
  length: {
    takes: [["string", "array", "object"]],
    run([value]: [string | JsonValue[] | JsonObject], work) {
      if (Array.isArray(value)) return value.length;
      if (typeof value !== "string") return Object.keys(value).length;
      work.spendText(value.length);
      let length = 0;
      for (const _ of value) length += 1;
      return length;
    },
  },
  map: {
    takes: [["expression"], ["array"]],
    run: ([each, items]: [Lambda, JsonValue[]]) => items.map((item) => each.apply(item)),
  },
  reverse: {
    takes: [["string", "array"]],
    run([value]: [string | JsonValue[]], work) {
      work.spendText(value.length);
      return typeof value === "string" ? [...value].reverse().join("") : value.toReversed();
    },
  },
  sort: {
    takes: [["strings", "numbers"]],
    run: ([items]: [string[] | number[]], work) => items.toSorted((one, other) => compareKeys(one, other, work)),
  },
  sort_by: {
    takes: [["array"], ["expression"]],
    run([items, by]: [JsonValue[], Lambda], work) {
      const keyed = toKeyed("sort_by", items, by);
      return keyed.sort((one, other) => compareKeys(one.key, other.key, work)).map(({ item }) => item);
    },
  },
  min: { takes: [["strings", "numbers"]], run: ([items]: [(string | number)[]], work) => extreme(items, -1, work) },
  max: { takes: [["strings", "numbers"]], run: ([items]: [(string | number)[]], work) => extreme(items, 1, work) },
  min_by: {
    takes: [["array"], ["expression"]],
    run: ([items, by]: [JsonValue[], Lambda], work) => extremeBy("min_by", items, by, -1, work),
  },
  max_by: {
    takes: [["array"], ["expression"]],
    run: ([items, by]: [JsonValue[], Lambda], work) => extremeBy("max_by", items, by, 1, work),
  },
  group_by: {
    takes: [["array"], ["expression"]],
    run([items, by]: [JsonValue[], Lambda]) {
      const groups = new Map<string, JsonValue[]>();
      for (const item of items) {
        const key = by.apply(item);
        if (typeof key !== "string") throw new Error(`group_by() needs texts to group by, not ${kindOf(key)}`);
        const group = groups.get(key);
        if (group === undefined) groups.set(key, [item]);
        else group.push(item);
      }
      return Object.fromEntries(groups);
    },
  },
  zip: {
    takes: [["array"]],
    isVariadic: true,
    run(lists: JsonValue[][], work) {
      const length = lists.reduce((least, list) => Math.min(least, list.length), Number.POSITIVE_INFINITY);
      work.spend(length * (lists.length + 1));
      return Array.from({ length }, (_, index) => lists.map((list) => list[index] ?? null));
    },
  },
};

const objectFunctions: Record<string, QueryFunction> = {
  keys: { takes: [["object"]], run: ([object]: [JsonObject]) => Object.keys(object) },
  values: { takes: [["object"]], run: ([object]: [JsonObject]) => Object.values(object) },
  items: { takes: [["object"]], run: ([object]: [JsonObject]) => Object.entries(object) },
  from_items: {
    takes: [["lists"]],
    run([pairs]: [JsonValue[][]]) {
      for (const pair of pairs)
        if (pair.length !== 2 || typeof pair[0] !== "string")
          throw new Error("from_items() takes pairs of a text and a value");
      return Object.fromEntries(pairs as [string, JsonValue][]);
    },
  },
  merge: {
    takes: [["object"]],
    isVariadic: true,
    run: (objects: JsonObject[], work) => {
      const entries = objects.flatMap((object) => Object.entries(object));
      work.spend(entries.length);
      return Object.fromEntries(entries);
    },
  },
};

const numberFunctions: Record<string, QueryFunction> = {
  abs: { takes: [["number"]], run: ([value]: [number]) => Math.abs(value) },
  ceil: { takes: [["number"]], run: ([value]: [number]) => Math.ceil(value) },
  floor: { takes: [["number"]], run: ([value]: [number]) => Math.floor(value) },
  sum: { takes: [["numbers"]], run: ([values]: [number[]]) => sumOf(values) },
  avg: {
    takes: [["numbers"]],
    run: ([values]: [number[]]) => (values.length === 0 ? null : sumOf(values) / values.length),
  },
};

const kindFunctions: Record<string, QueryFunction> = {
  not_null: {
    takes: [["any"]],
    isVariadic: true,
    run: (values: JsonValue[]) => values.find((value) => value !== null) ?? null,
  },
  to_array: { takes: [["any"]], run: ([value]: [JsonValue]) => (Array.isArray(value) ? value : [value]) },
  to_number: {
    takes: [["any"]],
    run([value]: [JsonValue]) {
      if (typeof value === "number") return value;
      const isNumber = typeof value === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value);
      return isNumber ? Number(value) : null;
    },
  },
  to_string: {
    takes: [["any"]],
    run([value]: [JsonValue], work) {
      if (typeof value === "string") return value;
      // A value built by an expression may contain the same object many times; only the size of its text shows how
      // often.
      if (isLargerThan(value, work.textLeft)) work.spend(Number.POSITIVE_INFINITY);
      const text = JSON.stringify(value);
      work.spendText(text.length);
      return text;
    },
  },
  type: { takes: [["any"]], run: ([value]: [JsonValue]) => kindOf(value) },
};

const functions: Readonly<Record<string, QueryFunction>> = {
  ...listFunctions,
  ...objectFunctions,
  ...numberFunctions,
  ...kindFunctions,
  ...textFunctions,
};

/** Throws if there is no such function, or if it takes another number of arguments. */
export function findFunction(name: string, count: number): QueryFunction {
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (found === undefined) throw new Error(`unknown function ${name}()`);
  const { takes, optional = 0, isVariadic } = found;
  if (count >= takes.length - optional && (isVariadic || count <= takes.length)) return found;
  const least = takes.length - optional;
  const expected = isVariadic ? `${least} or more` : optional === 0 ? least : `${least} to ${takes.length}`;
  throw new Error(`${name}() takes ${expected} arguments, not ${count}`);
}

export function callFunction(name: string, called: QueryFunction, args: Argument[], work: Work): JsonValue {
  const { takes } = called;
  args.forEach((argument, index) => {
    const kinds = takes[Math.min(index, takes.length - 1)] as readonly ArgumentKind[];
    // The check and most functions walk through lists.
    if (Array.isArray(argument)) work.spend(argument.length);
    else if (isJsonObject(argument)) work.spend(Object.keys(argument).length);
    if (kinds.some((kind) => isOfKind(argument, kind))) return;
    const found = argument instanceof Lambda ? "an expression" : kindOf(argument);
    throw new Error(`argument ${index + 1} of ${name}() is ${found}; it takes ${kinds.map(describe).join(" or ")}`);
  });
  return called.run(args, work);
}

function isOfKind(argument: Argument, kind: ArgumentKind): boolean {
  if (argument instanceof Lambda || kind === "expression") return argument instanceof Lambda && kind === "expression";
  switch (kind) {
    case "any":
      return true;
    case "array":
      return Array.isArray(argument);
    case "object":
      return isJsonObject(argument);
    case "numbers":
      return Array.isArray(argument) && argument.every((item) => typeof item === "number");
    case "strings":
      return Array.isArray(argument) && argument.every((item) => typeof item === "string");
    case "lists":
      return Array.isArray(argument) && argument.every((item) => Array.isArray(item));
    default:
      return typeof argument === kind;
  }
}

function describe(kind: ArgumentKind): string {
  return (
    { numbers: "an array of numbers", strings: "an array of strings", lists: "an array of arrays" }[kind as string] ??
    (kind === "expression" ? "an &expression" : kind)
  );
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function compareKeys(one: string | number, other: string | number, work: Work): number {
  work.spend(1);
  return typeof one === "string" ? compareTexts(one, other as string, work) : one - (other as number);
}

/** Items with their sort keys: all texts, or all numbers. */
function toKeyed(name: string, items: readonly JsonValue[], by: Lambda): { item: JsonValue; key: string | number }[] {
  let kind: string | undefined;
  return items.map((item) => {
    const key = by.apply(item);
    kind ??= typeof key;
    if ((typeof key !== "string" && typeof key !== "number") || typeof key !== kind)
      throw new Error(`${name}() compares by numbers or by texts, not by ${kindOf(key)}`);
    return { item, key };
  });
}

/** `sign` is 1 for the greatest and -1 for the least; the first of several equal items is returned. */
function extreme(items: readonly (string | number)[], sign: number, work: Work): JsonValue {
  return extremeOf(
    items.map((item) => ({ item, key: item })),
    sign,
    work,
  );
}

function extremeBy(name: string, items: readonly JsonValue[], by: Lambda, sign: number, work: Work): JsonValue {
  return extremeOf(toKeyed(name, items, by), sign, work);
}

function extremeOf(keyed: readonly { item: JsonValue; key: string | number }[], sign: number, work: Work): JsonValue {
  let best = keyed[0];
  for (const candidate of keyed)
    if (best !== undefined && compareKeys(candidate.key, best.key, work) * sign > 0) best = candidate;
  return best?.item ?? null;
}
