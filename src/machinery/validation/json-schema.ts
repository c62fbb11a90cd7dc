// The only file that imports ajv: checks values against a JSON Schema given as data.
import { createRequire } from "node:module";
import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";

import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../protocol/json.ts";
import { isLargerThan } from "./json-size.ts";
import {
  describeFound,
  describeValues,
  maxProblems,
  toPath,
  unknownProperty,
  type ValueProblem,
} from "./problem-text.ts";

/** For larger values only the first problem is reported: collecting all could cost a thousand times their size. */
const maxBytesForAllProblems = 64 * 1024;

export type Checked = { value: JsonObject } | { problems: ValueProblem[] };

/**
 * Compiles on first use: a list of two hundred tools costs nothing until a tool is called. Throws on an invalid
 * schema.
 */
export function createSchemaCheck(schema: JsonObject): (args: JsonObject) => Checked {
  const hasDefaults = hasKeyword(schema, "default");
  let validate: ValidateFunction | undefined;
  let validateAll: ValidateFunction | undefined;
  let fillsInherited: boolean | undefined;
  // Ajv writes defaults into the value it checks, and the caller's arguments must not change.
  const copy = (args: JsonObject): JsonObject => {
    const value = copyJson(args);
    fillsInherited ??= hasDefaults && namesInherited(schema);
    if (fillsInherited) fillInherited(schema, value);
    return value;
  };
  return (args) => {
    validate ??= compile(schema, false);
    const value = hasDefaults ? copy(args) : args;
    if (validate(value)) return { value };
    let errors = validate.errors ?? [];
    if (!isLargerThan(args, maxBytesForAllProblems)) {
      validateAll ??= compile(schema, true);
      validateAll(copy(args));
      errors = validateAll.errors ?? errors;
    }
    return { problems: toProblems(errors, args) };
  };
}

// A cache, not state: making an Ajv costs ten times the compiling of a schema, and loading it 60 ms.
const ajvs = new Map<string, Ajv2020>();

function compile(schema: JsonObject, isComplete: boolean): ValidateFunction {
  const ownProperties = namesInherited(schema);
  const key = `${isComplete} ${ownProperties}`;
  const ajv = ajvs.get(key) ?? createAjv({ allErrors: isComplete, ownProperties });
  ajvs.set(key, ajv);
  // Tools of other systems name older drafts; the keywords they use mean the same in this draft.
  const { $schema: _draft, ...rest } = schema;
  try {
    return ajv.compile(rest);
  } finally {
    // Ajv would otherwise keep each schema it has ever seen.
    ajv.removeSchema(rest);
  }
}

const inheritedNames = Object.getOwnPropertyNames(Object.prototype);
const inheritedTexts = inheritedNames.map((name) => JSON.stringify(name));

/**
 * Checking own properties only costs time for each value, and is needed only if a schema names a property such as
 * `constructor`.
 */
function namesInherited(schema: JsonObject): boolean {
  const text = JSON.stringify(schema);
  return inheritedTexts.some((name) => text.includes(name));
}

/**
 * Ajv takes an inherited property for a given value: it does not fill in the default, and then rejects the inherited
 * value.
 */
function fillInherited(schema: JsonValue | undefined, value: JsonValue | undefined): void {
  if (!isJsonObject(schema)) return;
  if (Array.isArray(value)) for (const item of value) fillInherited(schema.items, item);
  if (!isJsonObject(value) || !isJsonObject(schema.properties)) return;
  for (const [name, inner] of Object.entries(schema.properties)) {
    const usual = isJsonObject(inner) && Object.hasOwn(inner, "default") ? inner.default : undefined;
    const isOurs = inheritedNames.includes(name) && name !== "__proto__" && !Object.hasOwn(value, name);
    if (isOurs && usual !== undefined) value[name] = copyJson(usual);
    if (Object.hasOwn(value, name)) fillInherited(inner, value[name]);
  }
}

function createAjv(options: { allErrors: boolean; ownProperties: boolean }): Ajv2020 {
  const { Ajv2020 } = createRequire(import.meta.url)("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  return new Ajv2020({
    ...options,
    verbose: true,
    useDefaults: true,
    strict: false,
    validateFormats: false,
    addUsedSchema: false,
    logger: false,
  });
}

function hasKeyword(schema: JsonValue, keyword: string): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if (Array.isArray(schema)) return schema.some((item) => hasKeyword(item, keyword));
  return Object.entries(schema).some(([key, value]) => key === keyword || hasKeyword(value, keyword));
}

function toProblems(errors: readonly ErrorObject[], args: JsonObject): ValueProblem[] {
  const problems = new Map<string, ValueProblem>();
  for (const error of errors) {
    const path = toPath(fromPointer(error.instancePath, args));
    const problem = { path, message: toMessage(error) };
    // Each branch of an anyOf reports; the same problem at the same path is listed once.
    problems.set(`${path}\n${problem.message}`, problem);
    if (problems.size >= maxProblems) break;
  }
  return [...problems.values()];
}

function toMessage(error: ErrorObject): string {
  const { keyword, params, data } = error;
  switch (keyword) {
    case "required":
      return `property "${params.missingProperty}" is required and missing`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params.additionalProperty ?? params.unevaluatedProperty);
      const properties = (error.parentSchema as { properties?: object } | undefined)?.properties ?? {};
      return unknownProperty(name, Object.keys(properties));
    }
    case "type":
      return `expected ${[params.type].flat().join(" or ")}, found ${describeFound(data)}`;
    case "enum":
      return `expected ${describeValues(params.allowedValues)}, found ${describeFound(data)}`;
    case "const":
      return `expected ${describeValues([params.allowedValue])}, found ${describeFound(data)}`;
    default:
      return `${error.message ?? keyword}, found ${describeFound(data)}`;
  }
}

/** A JSON pointer as path segments; digits are an index only if the arguments have an array there. */
function fromPointer(pointer: string, args: JsonObject): (string | number)[] {
  let place: unknown = args;
  return pointer
    .split("/")
    .slice(1)
    .map((part) => {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      const segment = Array.isArray(place) ? Number(name) : name;
      place = (place as Record<string, unknown> | undefined)?.[name];
      return segment;
    });
}
