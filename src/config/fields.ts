// Reads a schema as a tree of fields: what messages, suggestions and the template of a config are made from.
import { z } from "zod";

export interface Field {
  /** The schema without the wrappers that make it optional. */
  readonly schema: z.ZodType;
  readonly description: string;
  /** What it is when absent; undefined where there is no default, and for sections, whose fields have their own. */
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

/** True where a section takes keys that it does not name. */
export function isOpen(section: z.ZodObject): boolean {
  return section.def.catchall instanceof z.ZodUnknown;
}

/** Dotted paths of all fields outside of lists: where a key that stands in the wrong section belongs. */
export function pathsOf(section: z.ZodObject, prefix = ""): string[] {
  return [...fieldsOf(section)].flatMap(([key, { schema }]) => [
    prefix + key,
    ...(schema instanceof z.ZodObject ? pathsOf(schema, `${prefix}${key}.`) : []),
  ]);
}
