// Reads a schema as a tree of fields, from which messages, suggestions and the config template are made.
import { z } from "zod";

export interface Field {
  /** The schema without the wrappers that make it optional. */
  readonly schema: z.ZodType;
  readonly description: string;
  /** Undefined without a default, and for sections, whose fields have their own defaults. */
  readonly defaultValue: unknown;
}

export function toField(schema: z.ZodType): Field {
  let inner = schema;
  let description = schema.description;
  let defaultValue: unknown;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault || inner instanceof z.ZodOptional) {
    if (inner instanceof z.ZodDefault) defaultValue = inner.def.defaultValue;
    inner = inner.unwrap() as z.ZodType;
    description ??= inner.description;
  }
  return { schema: inner, description: description ?? "", defaultValue };
}

/** The fields of a section by their keys. */
export function fieldsOf(section: z.ZodObject): Map<string, Field> {
  return new Map(Object.entries(section.shape).map(([key, schema]) => [key, toField(schema as z.ZodType)]));
}

/** True if a section accepts keys that it does not name. */
export function isOpen(section: z.ZodObject): boolean {
  return section.def.catchall instanceof z.ZodUnknown;
}

/** Dotted paths of all fields outside of lists, used to suggest the right section for a misplaced key. */
export function pathsOf(section: z.ZodObject, prefix = ""): string[] {
  return [...fieldsOf(section)].flatMap(([key, { schema }]) => [
    prefix + key,
    ...(schema instanceof z.ZodObject ? pathsOf(schema, `${prefix}${key}.`) : []),
  ]);
}
