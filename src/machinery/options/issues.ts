// Turns the issues of a zod schema into messages for the author of a config.
import type { z } from "zod";
import { nearest } from "../nearest.ts";

type Issue = z.core.$ZodIssue;

export function explainIssue(
  issue: Issue,
  value: unknown,
  isSecret: boolean,
): { message: string; suggestion?: string } {
  if (value === undefined && issue.code !== "unrecognized_keys")
    return { message: `is missing: ${expectation(issue)}` };
  // YAML reads an unquoted 123 or true as a number or boolean, even if a text was meant.
  const isUnquoted = issue.code === "invalid_type" && issue.expected === "string" && typeof value !== "object";
  const message = `${expectation(issue)}${isUnquoted ? " in quotes" : ""}, found ${describe(value, isSecret)}`;
  if (issue.code !== "invalid_value" || typeof value !== "string" || isSecret) return { message };
  const suggestion = nearest(value, issue.values.map(String));
  return suggestion === undefined ? { message } : { message, suggestion };
}

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping",
};

function expectation(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${typeNames[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `expected one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return issue.origin === "string" ? "expected text that is not empty" : `expected at least ${issue.minimum}`;
    case "too_big":
      return `expected at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const maxShownLength = 60;

function describe(value: unknown, isSecret: boolean): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  if (isSecret) return typeof value === "string" ? "another text" : `a ${typeof value}`;
  if (typeof value !== "string") return String(value);
  return value.length > maxShownLength ? `a text of ${value.length} characters` : JSON.stringify(value);
}
