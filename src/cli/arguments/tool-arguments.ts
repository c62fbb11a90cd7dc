// Turns flags into the arguments of a tool or skill, guided by its JSON Schema. The host checks whether they fit.

import { nearest } from "../../machinery/nearest.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Flag } from "./flags.ts";

/** Gives the text of `@path`, as often as it is asked; `-` is standard input. */
export type ReadText = (path: string) => string;

export function propertiesOf(schema: JsonObject): Map<string, JsonObject> {
  const entries = isJsonObject(schema.properties) ? Object.entries(schema.properties) : [];
  return new Map(entries.map(([name, property]) => [name, isJsonObject(property) ? property : {}]));
}

/** The property that a flag means: its name, with `-` for `_`, or `no-` before that of a switch. */
export function findProperty(flag: string, schema: JsonObject): { name: string; isNegated: boolean } | undefined {
  const names = [...propertiesOf(schema).keys()];
  const find = (wanted: string) =>
    names.find((name) => name === wanted) ?? names.find((name) => plain(name) === plain(wanted));
  const direct = find(flag);
  if (direct !== undefined) return { name: direct, isNegated: false };
  const switched = flag.startsWith("no-") ? find(flag.slice(3)) : undefined;
  return switched === undefined ? undefined : { name: switched, isNegated: true };
}

/** The noun for the called thing in messages. */
export type CalledKind = "tool" | "skill";

export function toArguments(
  flags: readonly Flag[],
  schema: JsonObject,
  readText: ReadText,
  kind: CalledKind = "tool",
): JsonObject {
  const properties = propertiesOf(schema);
  const args: Record<string, JsonValue> = {};
  for (const flag of flags) {
    const found = findProperty(flag.name, schema);
    if (found === undefined) {
      // A tool that takes anything is given anything.
      if (!isOpen(schema)) throw unknownArgument(kind, flag.name, properties.keys());
      args[flag.name] = toValue(flag, {}, readText);
      continue;
    }
    const { name, isNegated } = found;
    const property = properties.get(name) ?? {};
    if (isNegated) args[name] = false;
    else if (typesOf(property).includes("array")) args[name] = appendTo(args[name], toItems(flag, property, readText));
    else args[name] = toValue(flag, property, readText);
  }
  return args;
}

/** All arguments at once, as `--json-args` gives them. */
export function parseJsonArguments(text: string | undefined, readText: ReadText): JsonObject {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith("@") ? readText(text.slice(1)) : text);
  } catch (cause) {
    throw usage(`--json-args: ${(cause as Error).message}`);
  }
  if (!isJsonObject(value)) throw usage("--json-args: expected a JSON object");
  return value;
}

function isOpen(schema: JsonObject): boolean {
  const { additionalProperties: extra } = schema;
  return extra === true || isJsonObject(extra) || (extra === undefined && propertiesOf(schema).size === 0);
}

function toValue({ name, value }: Flag, schema: JsonObject, readText: ReadText): JsonValue {
  const types = typesOf(schema);
  if (value === undefined) {
    if (types.length === 0 || types.includes("boolean")) return true;
    throw usage(`--${name} needs a value: ${types.join(" or ")}`);
  }
  const text = resolveText(name, value, readText);
  const takesText = types.length === 0 || types.includes("string");
  if (takesText && types.length === 1) return text;
  const json = parseJsonText(text);
  // Text that looks like JSON stays text if the schema accepts only text; if it accepts both, JSON goes first.
  if (json !== undefined && (types.length === 0 || types.some((type) => isOfType(json, type)))) return json;
  if (takesText) return text;
  throw usage(`--${name}: expected ${types.join(" or ")}, found ${shorten(text)}`);
}

/** A flag gives a single item, or all items as a JSON array. */
function toItems(flag: Flag, schema: JsonObject, readText: ReadText): JsonValue[] {
  const { name, value } = flag;
  if (value === undefined) throw usage(`--${name} needs a value: an item, repeated for more, or a JSON array`);
  const whole = parseJsonText(resolveText(name, value, readText));
  if (Array.isArray(whole)) return whole;
  // Read again, as a single item: readers give the same text each time.
  return [toValue(flag, isJsonObject(schema.items) ? schema.items : {}, readText)];
}

function appendTo(before: JsonValue | undefined, items: JsonValue[]): JsonValue[] {
  return [...(Array.isArray(before) ? before : []), ...items];
}

/** `@file` stands for the text in it, `@-` for standard input, `@@` for an at sign. */
function resolveText(name: string, value: string, readText: ReadText): string {
  if (!value.startsWith("@") || value === "@") return value;
  if (value.startsWith("@@")) return value.slice(1);
  try {
    return readText(value.slice(1));
  } catch (cause) {
    throw usage(`--${name}: ${value.slice(1)} cannot be read; write @${value} for a text that begins with @`, cause);
  }
}

/** The JSON types that a schema accepts; empty if it does not restrict them. */
export function typesOf(schema: JsonObject): string[] {
  if (typeof schema.type === "string") return [schema.type];
  if (Array.isArray(schema.type)) return schema.type.filter((type) => typeof type === "string");
  if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeName))];
  if ("const" in schema) return [typeName(schema.const ?? null)];
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (!Array.isArray(choices)) continue;
    const types = choices.map((choice) => (isJsonObject(choice) ? typesOf(choice) : []));
    return types.some((some) => some.length === 0) ? [] : [...new Set(types.flat())];
  }
  return [];
}

function isOfType(value: JsonValue, type: string): boolean {
  return type === "integer" ? Number.isInteger(value) : typeName(value) === type;
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function parseJsonText(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function unknownArgument(kind: CalledKind, name: string, known: Iterable<string>): CliError {
  const names = [...known];
  const near = nearest(name, names);
  const list = names.length === 0 ? "it takes none" : `it takes ${names.map((one) => `--${one}`).join(", ")}`;
  const advice = near === undefined ? "" : `; did you mean --${near}?`;
  return usage(`the ${kind} has no argument "${name}"${advice} (${list})`);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

function usage(message: string, cause?: unknown): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, cause });
}
