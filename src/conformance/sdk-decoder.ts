// Decodes a line as strictly as the Python SDK does. An agent on the SDK drops a line that it cannot decode without an
// error and then waits until its timeout, so every line of a host should pass.
import { type Model, sdkEnums, sdkEnvelope, sdkMessages, sdkModels } from "./sdk-models.ts";

export type SdkDecoded =
  | { readonly kind: "message"; readonly type: string; readonly fields: Readonly<Record<string, unknown>> }
  /** An unknown type: decoded without its fields, so without req_id, and ignored. */
  | { readonly kind: "generic"; readonly type: string }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

export function decodeAsSdk(line: string): SdkDecoded {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { kind: "refused", problems: [`not JSON: ${(error as Error).message}`] };
  }
  if (!isRecord(value)) return { kind: "refused", problems: ["not an object"] };
  const { type } = value;
  if (typeof type !== "string") return { kind: "refused", problems: ["type: expected a string"] };
  const model = Object.hasOwn(sdkMessages, type) ? sdkMessages[type] : undefined;
  if (model === undefined) return { kind: "generic", type };
  const problems: string[] = [];
  checkModel(value, { ...sdkEnvelope, ...model }, "", problems);
  return problems.length > 0 ? { kind: "refused", problems } : { kind: "message", type, fields: value };
}

/** Extra fields are ignored; a field that is there must have its type. */
function checkModel(value: unknown, model: Model, path: string, problems: string[]): void {
  if (!isRecord(value)) return void problems.push(`${path}: expected an object, got ${nameOf(value)}`);
  for (const [name, [type, isRequired]] of Object.entries(model)) {
    const place = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(value, name)) {
      if (isRequired !== undefined) problems.push(`${place}: is missing`);
    } else checkValue(value[name], type, place, problems);
  }
}

function checkValue(value: unknown, type: string, path: string, problems: string[]): void {
  if (type.endsWith("|null")) {
    if (value !== null) checkValue(value, type.slice(0, -"|null".length), path, problems);
    return;
  }
  const container = /^(list|map)\[(.+)\]$/.exec(type);
  if (container !== null) return checkContainer(value, container[1] === "list", container[2] as string, path, problems);
  const model = sdkModels[type];
  if (model !== undefined) return checkModel(value, model, path, problems);
  if (!isScalarOf(value, type)) problems.push(`${path}: expected ${type}, got ${nameOf(value)}`);
}

function checkContainer(value: unknown, isList: boolean, element: string, path: string, problems: string[]): void {
  const isRight = isList ? Array.isArray(value) : isRecord(value);
  if (!isRight) return void problems.push(`${path}: expected ${isList ? "a list" : "an object"}, got ${nameOf(value)}`);
  for (const [key, item] of Object.entries(value as object)) checkValue(item, element, `${path}[${key}]`, problems);
}

/** Pydantic in its default mode: numbers in text become numbers, a whole float is an integer, some words are booleans. */
function isScalarOf(value: unknown, type: string): boolean {
  switch (type) {
    case "string":
      return typeof value === "string";
    case "integer":
      return (
        Number.isInteger(value) ||
        typeof value === "boolean" ||
        (typeof value === "string" && /^\s*[+-]?\d+(\.0+)?\s*$/.test(value))
      );
    case "number":
      return typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && isNumeric(value));
    case "boolean":
      return (
        typeof value === "boolean" ||
        value === 0 ||
        value === 1 ||
        (typeof value === "string" && booleanWords.has(value.toLowerCase()))
      );
    case "object":
      return isRecord(value);
    case "any":
      return true;
    default:
      return typeof value === "string" && (sdkEnums[type]?.includes(value) ?? false);
  }
}

const booleanWords = new Set(["0", "1", "true", "false", "t", "f", "yes", "no", "y", "n", "on", "off"]);

function isNumeric(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function nameOf(value: unknown): string {
  return value === null
    ? "null"
    : Array.isArray(value)
      ? "a list"
      : `${typeof value} ${JSON.stringify(value)?.slice(0, 40)}`;
}

/** What `str.splitlines` cuts at: more than a line feed, which is why a stream for the SDK stays in ASCII. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python cuts lines at these.
const pythonLineEnds = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

/**
 * The data lines of a stream as the SDK's client reads them: text split as Python splits it, `data:` removed, all
 * other lines skipped. `encoding` is Latin-1 if the server names no charset.
 */
export function readStreamAsSdk(stream: Uint8Array, encoding: "utf-8" | "latin1"): string[] {
  const text = Buffer.from(stream).toString(encoding === "latin1" ? "latin1" : "utf8");
  return text
    .split(pythonLineEnds)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim());
}
