// Assertions of requirements. Messages name the expected value first, then the actual one.
import { isDeepStrictEqual } from "node:util";
import type { Message } from "../protocol/envelope.ts";
import type { JsonObject, JsonValue } from "../protocol/json.ts";

/** The host does not meet the requirement. */
export class Failure extends Error {}

/** The requirement cannot be asked of this host. */
export class Skip extends Error {}

export function skip(reason: string): never {
  throw new Skip(reason);
}

export function check(condition: boolean, expectation: string): asserts condition {
  if (!condition) throw new Failure(expectation);
}

export function checkEqual(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new Failure(`${what}: expected ${show(expected)}, got ${show(actual)}`);
}

/** Asserts the type of an answer, and returns the answer. */
export function checkType(message: Message, type: string): Message {
  if (message.type !== type) throw new Failure(`expected ${type}, got ${show(message)}`);
  return message;
}

/** Asserts an error with one of these codes, and returns it. */
export function checkError(message: Message, ...codes: string[]): Message {
  const isOne = message.type === "error" && codes.includes(String(message.code));
  if (!isOne) throw new Failure(`expected an error with code ${codes.join(" or ")}, got ${show(message)}`);
  return message;
}

/** Asserts that there is exactly one element, and returns it. */
export function only<Item>(items: readonly Item[], what: string): Item {
  const [first] = items;
  if (first === undefined || items.length !== 1)
    throw new Failure(`expected exactly one ${what}, got ${items.length}: ${show(items)}`);
  return first;
}

export function asObject(value: JsonValue | undefined, what: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Failure(`${what}: expected an object, got ${show(value)}`);
  return value;
}

export function asArray(value: JsonValue | undefined, what: string): JsonValue[] {
  if (!Array.isArray(value)) throw new Failure(`${what}: expected an array, got ${show(value)}`);
  return value;
}

export function asObjects(value: JsonValue | undefined, what: string): JsonObject[] {
  return asArray(value, what).map((item) => asObject(item, `${what}[]`));
}

const maxShown = 300;

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
