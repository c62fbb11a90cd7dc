// What a function of JMESPath is.
import type { JsonValue } from "../../../../protocol/json.ts";
import type { Work } from "../work.ts";

/** `&expression`, given to a function. A class, so that no data can pass for one. */
export class Lambda {
  readonly apply: (value: JsonValue) => JsonValue;

  constructor(apply: (value: JsonValue) => JsonValue) {
    this.apply = apply;
  }
}

export type Argument = JsonValue | Lambda;

export type ArgumentKind =
  | "any"
  | "number"
  | "string"
  | "array"
  | "object"
  | "expression"
  | "numbers"
  | "strings"
  | "lists";

export interface QueryFunction {
  /** What each argument may be. */
  readonly takes: readonly (readonly ArgumentKind[])[];
  /** How many of the last ones may be left out. */
  readonly optional?: number;
  /** The last one may come any number of times, and once at least. */
  readonly isVariadic?: true;
  /** Arguments were checked against `takes`, so that it may say of what types they are. */
  run(args: (Argument | undefined)[], work: Work): JsonValue;
}
