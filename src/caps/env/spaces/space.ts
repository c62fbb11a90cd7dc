// The values that an action or an observation may have: a set of JSON values that can be described, checked and
// sampled.
import type { JsonObject } from "../../../protocol/json.ts";
import type { SeededRandom } from "../random.ts";

export interface Space<Value = unknown> {
  /** The usual description, for example `{ "type": "discrete", "n": 2 }`. `spaceFrom` builds the space from it. */
  readonly form: JsonObject;
  /** The same set as JSON Schema. */
  readonly schema: JsonObject;
  contains(value: unknown): value is Value;
  sample(random: SeededRandom): Value;
}

/** The type of the values of a space. */
export type ValueOf<S> = S extends Space<infer Value> ? Value : never;

/** A field that may be missing. */
export interface OptionalField<Value = unknown> {
  readonly optional: Space<Value>;
}

export function optional<Value>(space: Space<Value>): OptionalField<Value> {
  return { optional: space };
}

export type Fields = Readonly<Record<string, Space | OptionalField>>;

type RequiredNames<F extends Fields> = {
  [Name in keyof F]: F[Name] extends OptionalField ? never : Name;
}[keyof F];

export type FieldValues<F extends Fields> = { [Name in RequiredNames<F>]: ValueOf<F[Name]> } & {
  [Name in Exclude<keyof F, RequiredNames<F>>]?: F[Name] extends OptionalField<infer Value> ? Value : never;
};

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
