// The description of a tool on the wire. `input_parameters` is for peers without JSON Schema; `input_schema` is
// complete.
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import type { ToolDefinition, ToolParameter } from "../protocol.ts";

export function toToolDefinition(tool: CatalogueTool): ToolDefinition {
  return {
    name: tool.name,
    description: tool.description,
    kind: tool.kind,
    input_parameters: toParameters(tool.inputSchema),
    output_parameters: tool.outputSchema === undefined ? [] : toParameters(tool.outputSchema),
    input_schema: tool.inputSchema,
    ...(tool.outputSchema === undefined ? {} : { output_schema: tool.outputSchema }),
    streaming: tool.isStreaming,
    idempotent: tool.isIdempotent,
    tags: [...tool.tags],
    version: tool.version,
    toolkit: tool.toolkit ?? null,
    defer_loading: tool.isDeferred,
    source: tool.source,
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
  };
}

/** Schemas may be recursive, so the depth of nested parameters is limited. */
const maxDepth = 6;

function toParameters(root: JsonObject): ToolParameter[] {
  return Object.values(parametersOf(root, root, maxDepth) ?? {});
}

function parametersOf(schema: JsonObject, root: JsonObject, depth: number): Record<string, ToolParameter> | null {
  const { properties, required } = schema;
  if (depth === 0 || !isJsonObject(properties)) return null;
  const names = Array.isArray(required) ? required : [];
  const entries = Object.entries(properties).map(([name, property]): [string, ToolParameter] => {
    const resolved = resolve(property, root);
    const parameter: ToolParameter = {
      name,
      type: typeOf(resolved, root),
      description: describe(property, resolved),
      required: names.includes(name),
      enum: valuesOf(resolved),
      properties: parametersOf(resolved, root, depth - 1) as JsonObject | null,
    };
    return [name, parameter];
  });
  return Object.fromEntries(entries);
}

/** Follows references within the schema; a missing or circular reference means any value. */
function resolve(schema: JsonValue | undefined, root: JsonObject): JsonObject {
  let current = schema;
  for (let steps = 0; steps < maxDepth; steps++) {
    if (!isJsonObject(current)) return {};
    const { $ref } = current;
    if (typeof $ref !== "string") return current;
    if (!$ref.startsWith("#")) return {};
    const names = $ref
      .split("/")
      .slice(1)
      .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
    current = names.reduce<JsonValue | undefined>(
      (place, name) => (isJsonObject(place) && Object.hasOwn(place, name) ? place[name] : undefined),
      root,
    );
  }
  return {};
}

function typeOf(schema: JsonObject, root: JsonObject, depth = maxDepth): string {
  const { type } = schema;
  if (typeof type === "string") return type;
  if (Array.isArray(type)) return joinTypes(type.map(String));
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches) && depth > 0)
    return joinTypes(branches.map((branch) => typeOf(resolve(branch, root), root, depth - 1)));
  const values = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const as JsonValue] : [];
  return values.length === 0 ? "any" : joinTypes(values.map(typeOfValue));
}

function joinTypes(types: string[]): string {
  const distinct = [...new Set(types.flatMap((type) => type.split("|")))];
  const withoutNull = distinct.filter((type) => type !== "null");
  return withoutNull.length === 0 ? "null" : withoutNull.join("|");
}

function typeOfValue(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function describe(property: JsonValue | undefined, resolved: JsonObject): string {
  const own = isJsonObject(property) ? property.description : undefined;
  const text = own ?? resolved.description ?? resolved.title;
  return typeof text === "string" ? text : "";
}

function valuesOf(schema: JsonObject): string[] | null {
  const values = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : null;
  return values?.map((value) => (typeof value === "string" ? value : JSON.stringify(value))) ?? null;
}
