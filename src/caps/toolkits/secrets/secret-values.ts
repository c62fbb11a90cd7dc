// Splits a config into secrets and the rest. A value is a secret if any schema that could apply to it says so: it is
// not worth a leak to find out which branch of an `anyOf` applies.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";

export type ValuePath = readonly (string | number)[];
export type SecretValue = [path: ValuePath, value: JsonValue];

export interface SplitConfig {
  /** The config without its secrets. */
  shown: JsonObject;
  secrets: SecretValue[];
}

export function splitSecrets(schema: JsonObject, config: JsonObject): SplitConfig {
  const secrets: SecretValue[] = [];
  const shown = withoutSecrets([schema], config, [], schema, secrets);
  return { shown: isJsonObject(shown) ? shown : {}, secrets };
}

/** Restores the whole config. */
export function joinSecrets(shown: JsonObject, secrets: readonly SecretValue[]): JsonObject {
  let joined: JsonValue = shown;
  for (const [path, value] of secrets) joined = put(joined, path, value);
  return isJsonObject(joined) ? joined : {};
}

/** Every string and number in the secrets, to search for them in output. */
export function textsOf(secrets: readonly SecretValue[]): string[] {
  const texts: string[] = [];
  const collect = (value: JsonValue): void => {
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "number") texts.push(String(value));
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  for (const [, value] of secrets) collect(value);
  return texts;
}

function withoutSecrets(
  schemas: readonly JsonValue[],
  value: JsonValue,
  path: ValuePath,
  root: JsonObject,
  secrets: SecretValue[],
): JsonValue | undefined {
  const applicable = expand(schemas, root);
  if (applicable.some(isMarked)) {
    secrets.push([path, value]);
    return undefined;
  }
  if (Array.isArray(value)) {
    // Items of a list keep their positions: null replaces a secret until it is restored.
    return value.map((item, index) => {
      const inner = applicable.flatMap((schema) => itemSchemas(schema, index));
      return withoutSecrets(inner, item, [...path, index], root, secrets) ?? null;
    });
  }
  if (!isJsonObject(value)) return value;
  const kept: [string, JsonValue][] = [];
  for (const [key, item] of Object.entries(value)) {
    const inner = applicable.flatMap((schema) => propertySchemas(schema, key));
    const left = withoutSecrets(inner, item, [...path, key], root, secrets);
    if (left !== undefined) kept.push([key, left]);
  }
  // Not by assignment, since a key may be `__proto__`.
  return Object.fromEntries(kept);
}

function isMarked(schema: JsonObject): boolean {
  return schema.format === "password" || schema.writeOnly === true || schema["x-secret"] === true;
}

const branches = ["allOf", "anyOf", "oneOf"];
const alternatives = ["if", "then", "else", "not"];

/** The schemas, and all schemas that they apply to the same value. */
function expand(schemas: readonly JsonValue[], root: JsonObject): JsonObject[] {
  const found = new Set<JsonObject>();
  const add = (schema: JsonValue | undefined): void => {
    if (schema === undefined || !isJsonObject(schema) || found.has(schema)) return;
    found.add(schema);
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const reference = schema[keyword];
      if (typeof reference === "string") add(resolveReference(reference, root));
    }
    for (const keyword of branches) listOf(schema[keyword]).forEach(add);
    for (const keyword of alternatives) add(schema[keyword]);
    valuesOf(schema.dependentSchemas).forEach(add);
  };
  schemas.forEach(add);
  return [...found];
}

function propertySchemas(schema: JsonObject, key: string): JsonValue[] {
  const { properties, patternProperties } = schema;
  const own = isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
  const matching = isJsonObject(patternProperties)
    ? Object.entries(patternProperties).filter(([pattern]) => new RegExp(pattern, "u").test(key))
    : [];
  const found = [own, ...matching.map(([, inner]) => inner)].filter((inner) => inner !== undefined);
  return found.length > 0 ? found : [schema.additionalProperties ?? true, schema.unevaluatedProperties ?? true];
}

function itemSchemas({ prefixItems, items, contains, unevaluatedItems }: JsonObject, index: number): JsonValue[] {
  const prefix = listOf(prefixItems)[index];
  // Before `prefixItems` existed, `items` could be a list.
  const rest = Array.isArray(items) ? (items[index] ?? true) : (items ?? true);
  return [prefix ?? rest, contains ?? true, unevaluatedItems ?? true];
}

function resolveReference(reference: string, root: JsonObject): JsonValue | undefined {
  if (!reference.startsWith("#")) return undefined;
  const fragment = decodeURIComponent(reference.slice(1));
  if (fragment === "") return root;
  if (!fragment.startsWith("/")) return findAnchor(root, fragment);
  return fragment
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<JsonValue | undefined>((place, step) => {
      if (Array.isArray(place)) return place[Number(step)];
      return isJsonObject(place) && Object.hasOwn(place, step) ? place[step] : undefined;
    }, root);
}

function findAnchor(place: JsonValue, name: string): JsonValue | undefined {
  if (typeof place !== "object" || place === null) return undefined;
  if (isJsonObject(place) && (place.$anchor === name || place.$dynamicAnchor === name)) return place;
  for (const inner of Object.values(place)) {
    const found = findAnchor(inner, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function put(target: JsonValue | undefined, path: ValuePath, value: JsonValue): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === "number") {
    const items: JsonValue[] = Array.isArray(target) ? [...target] : [];
    items[step] = put(items[step], rest, value);
    return items;
  }
  const object = isJsonObject(target) ? target : {};
  const inner = Object.hasOwn(object, step) ? object[step] : undefined;
  return Object.fromEntries([...Object.entries(object), [step, put(inner, rest, value)]]);
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function valuesOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonObject(value) ? Object.values(value) : [];
}
