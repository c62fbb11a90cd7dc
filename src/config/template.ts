// The config that `a2e init` writes: every setting with its default, switched off, and the words of the schema above it.
import { z } from "zod";
import { type Field, fieldsOf } from "./fields.ts";
import { hostConfig } from "./schema.ts";

const width = 100;

const introduction = [
  "# Configuration of an A2E host. Every setting is optional and shown with its default:",
  "# take away the # at the beginning of a line, and of the section it stands in, to change it.",
  `# \${NAME} in a text stands for an environment variable; $\${ for the characters themselves.`,
];

/** Lines that begin with `# ` and a word are prose; all others become settings when their first `#` is taken away. */
export function renderConfigTemplate(): string {
  const sections = [...fieldsOf(hostConfig)].map(([key, field]) => {
    const [prose, settings] = [wrap(field.description, "# "), renderSetting(key, field, "").map((line) => `#${line}`)];
    return [...prose, ...settings].join("\n");
  });
  return `${[introduction.join("\n"), ...sections].join("\n\n")}\n`;
}

function renderSetting(key: string, { schema, defaultValue }: Field, indent: string): string[] {
  if (schema instanceof z.ZodObject) return [`${indent}${key}:`, ...renderFields(schema, `${indent}  `, {})];
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject && Array.isArray(defaultValue)) {
    const section = schema.element;
    return [`${indent}${key}:`, ...defaultValue.flatMap((item) => renderItem(section, item, `${indent}  `))];
  }
  // A key without a value is not a setting, so a field without a default can be shown in the template too.
  return [defaultValue === undefined ? `${indent}${key}:` : `${indent}${key}: ${renderValue(schema, defaultValue)}`];
}

function renderFields(section: z.ZodObject, indent: string, values: Record<string, unknown>): string[] {
  return [...fieldsOf(section)].flatMap(([key, field]) => {
    const known =
      field.schema instanceof z.ZodObject ? field : { ...field, defaultValue: values[key] ?? field.defaultValue };
    return [...wrap(field.description, `${indent}# `), ...renderSetting(key, known, indent)];
  });
}

/** The first setting of a list item stands behind its dash, and the words about it above the dash. */
function renderItem(section: z.ZodObject, item: Record<string, unknown>, indent: string): string[] {
  const lines = renderFields(section, `${indent}  `, item);
  const first = lines.findIndex((line) => !line.trimStart().startsWith("#"));
  const head = lines.slice(0, first).map((line) => `${indent}${line.trimStart()}`);
  return [...head, `${indent}- ${lines[first]?.trimStart()}`, ...lines.slice(first + 1)];
}

function renderValue(schema: z.ZodType, value: unknown): string {
  const text = typeof value === "string" && /^[a-z][\w-]*$/i.test(value) ? value : JSON.stringify(value);
  return schema instanceof z.ZodEnum ? `${text}  # ${schema.options.join(" | ")}` : text;
}

function wrap(text: string, prefix: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${prefix}${word}`);
  }
  return lines;
}
