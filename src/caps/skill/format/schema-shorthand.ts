// Converts `inputs` and `outputs` of the front matter to a JSON Schema, from a schema or one of three short forms.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";

const jsonTypes = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);

/**
 * Accepts a schema, names (`[topic, style]`), parameters (`[{ name: topic, required: true }]`) or a map of names to
 * types or schemas (`topic: string`). Returns undefined for anything else.
 */
export function toSchema(value: JsonValue): JsonObject | undefined {
  if (Array.isArray(value)) return fromList(value);
  if (!isJsonObject(value)) return undefined;
  return isSchema(value) ? value : fromMap(value);
}

const schemaKeywords = new Set(
  "$schema $id $ref $defs title description type properties required additionalProperties items prefixItems enum const default examples anyOf oneOf allOf not if then else minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems uniqueItems contains minProperties maxProperties patternProperties propertyNames dependentRequired".split(
    " ",
  ),
);

/**
 * A map of arguments may have an argument called `type` or `title`, so it is a schema only if every key is a keyword of
 * JSON Schema.
 */
function isSchema(value: JsonObject): boolean {
  const keys = Object.keys(value);
  if (!keys.every((key) => schemaKeywords.has(key))) return false;
  const isTyped = [value.type ?? []].flat().every((type) => typeof type === "string" && jsonTypes.has(type));
  const hasShape = ["$ref", "type", "properties", "anyOf", "oneOf", "allOf"].some((key) => key in value);
  return (
    keys.length === 0 || (isTyped && hasShape && (value.properties === undefined || isJsonObject(value.properties)))
  );
}

function fromList(items: readonly JsonValue[]): JsonObject | undefined {
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const item of items) {
    if (typeof item === "string") properties[item] = {};
    else if (isJsonObject(item) && typeof item.name === "string") {
      const { name, required: isRequired, ...schema } = item;
      properties[name] = schema;
      if (isRequired === true) required.push(name);
    } else return undefined;
  }
  return toObjectSchema(properties, required);
}

function fromMap(map: JsonObject): JsonObject | undefined {
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const [name, given] of Object.entries(map)) {
    if (typeof given === "string") properties[name] = jsonTypes.has(given) ? { type: given } : { description: given };
    else if (isJsonObject(given)) {
      // `required: true` in a parameter is common but not JSON Schema, in which `required` is a list.
      const { required: isRequired, ...schema } = given;
      properties[name] = typeof isRequired === "boolean" || isRequired === undefined ? schema : given;
      if (isRequired === true) required.push(name);
    } else if (given === null) properties[name] = {};
    else return undefined;
  }
  return toObjectSchema(properties, required);
}

function toObjectSchema(properties: JsonObject, required: string[]): JsonObject {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

/** The names of the arguments in a schema. */
export function argumentNames(schema: JsonObject): string[] {
  return isJsonObject(schema.properties) ? Object.keys(schema.properties) : [];
}
