// Checks a value against a table: returns the declared value, or the error that a peer can act on.
import type { z } from "zod";
import { A2EError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { createFastParser } from "./fast-parse.ts";

export type Parse = (value: unknown, capabilityName?: string) => JsonObject | A2EError;

/** The parser of a schema; its fast half is written when it is first used, since most tables of a program never are. */
export function createParser(schema: z.ZodType): Parse {
  let fast: ((value: unknown) => unknown) | undefined;
  return (value, capabilityName) => {
    fast ??= createFastParser(schema);
    try {
      const parsed = fast(value);
      if (parsed !== undefined) return parsed as JsonObject;
    } catch {
      // Zod reports the problem below.
    }
    return parseWith(schema, value, capabilityName) as JsonObject | A2EError;
  };
}

/** Checks a value against a schema; returns a new value, or the error that a peer can act on. */
export function parseWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  capability_name = "",
): z.output<Schema> | A2EError {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success ? parsed.data : schemaViolation(parsed.error, capability_name);
  } catch (cause) {
    // Only a value that never was text gets here: a cycle, a BigInt, a getter that throws.
    const why = cause instanceof Error ? cause.message : "it cannot be read";
    return new A2EError("schema_violation", `no JSON form: ${why}`, { capability_name });
  }
}

/** Zod's issues as an error that a peer can act on: every bad field with its path and the expected value. */
function schemaViolation(error: z.ZodError, capability_name = ""): A2EError {
  const issues = error.issues.slice(0, 20).map((issue) => ({ path: toPath(issue.path), message: issue.message }));
  const text = issues
    .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
    .join("; ");
  return new A2EError("schema_violation", text, { detail: { issues } as JsonObject, capability_name });
}

function toPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === "number" ? `${text}[${step}]` : text === "" ? String(step) : `${text}.${String(step)}`,
    "",
  );
}
