// Fields of a JSON Schema as rows of a Markdown table.
import type { JsonSchema } from "./json-schema.ts";

/** Rows for all fields; those of a nested object follow it under dotted names. */
export function renderFields(schema: JsonSchema): string {
  const rows = rowsOf(schema, "");
  return rows.length === 0 ? "No fields." : renderTable(["Field", "Type", "Default", "Meaning"], rows);
}

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function rowsOf(schema: JsonSchema, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) === true && !("default" in field);
    const nested = nestedOf(field, path);
    // The default of a section only repeats the defaults of its fields.
    const hasOwnDefault = "default" in field && field.properties === undefined && field.items?.properties === undefined;
    const standard = hasOwnDefault ? code(JSON.stringify(field.default)) : isRequired ? "required" : "";
    const row = [code(path), typeOf(field), standard, field.description ?? ""];
    return [row, ...rowsOf(nested.schema, `${nested.path}.`)];
  });
}

/** Fields of an object, of the items of a list, or of objects by name. */
function nestedOf(field: JsonSchema, path: string): { schema: JsonSchema; path: string } {
  if (field.items?.properties !== undefined) return { schema: field.items, path: `${path}[]` };
  const named = field.additionalProperties;
  if (typeof named === "object" && named.properties !== undefined) return { schema: named, path: `${path}.<name>` };
  return { schema: field, path };
}

function typeOf(field: JsonSchema): string {
  if (field.enum !== undefined) return field.enum.map((value) => code(JSON.stringify(value))).join(" or ");
  if (field.const !== undefined) return code(JSON.stringify(field.const));
  if (field.anyOf !== undefined) return [...new Set(field.anyOf.map(typeOf))].join(" or ");
  if (field.type === "array") return field.items === undefined ? "array" : `array of ${typeOf(field.items)}`;
  if (Array.isArray(field.type)) return field.type.join(" or ");
  return field.type ?? "any";
}

export function code(text: string): string {
  return `\`${text}\``;
}
