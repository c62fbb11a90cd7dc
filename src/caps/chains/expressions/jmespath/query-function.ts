// The interface of a JMESPath function.
import type { JsonValue } from "../../../../protocol/json.ts";
import type { Work } from "../work.ts";

/** An `&expression` argument. A class, so that no JSON value can be mistaken for it. */
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
  /** The allowed kinds of each argument. */
  readonly takes: readonly (readonly ArgumentKind[])[];
  /** How many arguments at the end may be omitted. */
  readonly optional?: number;
  /** The last argument may be repeated; it is required at least once. */
  readonly isVariadic?: true;
  /** The arguments were checked against `takes`, so `run` may declare their types. */
  run(args: (Argument | undefined)[], work: Work): JsonValue;
}
