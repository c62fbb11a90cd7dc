// Describes a problem with a value so that its author, a person or a model, can correct it.

import { nearest } from "../nearest.ts";
import { cutText } from "./json-size.ts";

/** Problems reported at once. */
export const maxProblems = 20;

const plainName = /^[A-Za-z_$][\w$-]*$/;

/** `["filters", 2, "name"]` as `filters[2].name`. */
export function toPath(segments: readonly PropertyKey[]): string {
  let path = "";
  for (const segment of segments) {
    if (typeof segment === "number") path += `[${segment}]`;
    else if (plainName.test(String(segment))) path += path === "" ? String(segment) : `.${String(segment)}`;
    else path += `[${JSON.stringify(String(segment))}]`;
  }
  return path;
}

/** The type of a value, and the value itself if it is short. */
export function describeFound(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value) ?? String(value);
  return `${typeof value} ${text.length > maxShown ? `${cutText(text, maxShown)}…` : text}`;
}

const maxShown = 60;
const maxShownValues = 30;

export function describeValues(values: readonly unknown[]): string {
  const shown = values.slice(0, maxShownValues).map((value) => JSON.stringify(value) ?? String(value));
  const rest = values.length > maxShownValues ? ` or ${values.length - maxShownValues} more` : "";
  return values.length === 1 ? `${shown[0]}` : `one of ${shown.join(", ")}${rest}`;
}

export function unknownProperty(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  if (meant !== undefined) return `unknown property "${name}"; did you mean "${meant}"?`;
  const allowed = known.length === 0 ? "none are allowed" : `allowed are ${describeValues(known)}`;
  return `unknown property "${cutText(name, maxShown)}"; ${allowed}`;
}

/** A problem with a value of a JSON document, and the path of the value, as in `filters[2].name`. */
export interface ValueProblem {
  path: string;
  message: string;
}

export function problemsToText(problems: readonly ValueProblem[]): string {
  return problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}
