// The help of a tool, from its definition.
import type { ToolDefinition } from "../../caps/tools/protocol.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { toPlainLine, toPlainText } from "../plain-text.ts";
import { propertiesOf, typesOf } from "./tool-arguments.ts";

export function renderToolUsage(tool: ToolDefinition, program: string): string {
  const required = Array.isArray(tool.input_schema.required) ? tool.input_schema.required : [];
  const properties = [...propertiesOf(tool.input_schema)];
  const rows = properties.map(([name, schema]) => [
    `--${name} <${typesOf(schema).join("|") || "value"}>`,
    about(name, schema, required),
  ]);
  const width = Math.max(0, ...rows.map(([flag = ""]) => flag.length));
  const needed = properties.filter(([name]) => required.includes(name)).map(([name]) => ` --${name} …`);
  return [
    `Usage: ${program} call ${toPlainLine(tool.name)}${needed.join("")}`,
    "",
    toPlainText(tool.description),
    "",
    rows.length === 0 ? "It takes no arguments." : "Arguments:",
    ...rows.map(([flag = "", text = ""]) => `  ${toPlainLine(flag).padEnd(width)}  ${toPlainLine(text)}`.trimEnd()),
  ].join("\n");
}

function about(name: string, schema: JsonObject, required: readonly unknown[]): string {
  const facts = [
    typeof schema.description === "string" ? schema.description : "",
    Array.isArray(schema.enum) ? `One of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}.` : "",
    required.includes(name) ? "Required." : "",
    schema.default === undefined || schema.default === null ? "" : `Default: ${JSON.stringify(schema.default)}.`,
  ];
  return facts.filter((fact) => fact !== "").join(" ");
}
