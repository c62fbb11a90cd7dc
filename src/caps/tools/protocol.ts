import * as z from "zod";
import { eventPayload } from "../../protocol/core.ts";
import { jsonObject, jsonValue } from "../../protocol/json.ts";
import { call, capability, push } from "../../protocol/table/capability.ts";

const toolParameter = z.object({
  name: z.string(),
  type: z.string(),
  description: z.string(),
  required: z.boolean().default(false),
  enum: z.array(z.string()).nullable().default(null),
  properties: jsonObject.nullable().default(null).describe("Parameters of an object-valued parameter, by name."),
});

const toolDefinition = z.object({
  name: z.string(),
  description: z.string(),
  kind: z.string().default("function"),
  input_parameters: z.array(toolParameter).default([]),
  output_parameters: z.array(toolParameter).default([]),
  input_schema: jsonObject.default({}).describe("JSON Schema of the arguments; more complete than input_parameters."),
  output_schema: jsonObject.optional().describe("JSON Schema of `data` in the result."),
  streaming: z.boolean().default(true),
  idempotent: z.boolean().default(false),
  tags: z.array(z.string()).default([]),
  version: z.string().default("1.0.0"),
  toolkit: z.string().nullable().default(null),
  defer_loading: z.boolean().default(false),
  source: z.string().default(""),
  annotations: jsonObject.optional(),
});

const toolResult = z.object({
  success: z.boolean(),
  tool_name: z.string(),
  data: jsonValue.nullable().default(null),
  summary: jsonValue.nullable().default(null),
  truncated: z.boolean().nullable().default(false),
  exit_code: z.int().nullable().default(null),
  error: z.string().nullable().default(null),
  error_code: z.string().nullable().default(null),
  duration_ms: z.int(),
  events: z.array(eventPayload).default([]).describe("Events of the call, if the agent did not request streaming."),
});

export type ToolDefinition = z.output<typeof toolDefinition>;
export type ToolParameter = z.output<typeof toolParameter>;
export type ToolResult = z.output<typeof toolResult>;

export const toolsChanged = push("tool/changed", {
  doc: "The list of tools of this session has changed. An extension of ours.",
  payload: z.object({ added: z.array(z.string()).default([]), removed: z.array(z.string()).default([]) }),
  example: { added: ["github__create_issue"], removed: [] },
});

export const tools = capability("tools", {
  doc: "Named functions with a JSON Schema: list them, call them, follow their progress.",
  spellings: ["tool"],
  event: "tool/event",
  errors: {
    unknown_tool: { retryable: false, doc: "No tool has this name; `detail.similar` lists the nearest." },
    tool_denied: {
      retryable: false,
      doc: "The tool exists, but the policy of the host does not allow this agent to call it.",
    },
    tool_error: { retryable: true, doc: "The tool ran and failed." },
  },
  resources: { tool: "A tool, by its name." },
  calls: {
    list: call("tool/list/req", "tool/list/resp", {
      about: { access: "read", resource: "tool", shows: { at: "tools", name: "name", usedBy: "call" } },
      doc: "Lists tools; all given conditions must hold.",
      aliases: { "tool/list": "tool/list/resp", "mcp/list_tools": "mcp/list_tools/resp" },
      request: z.object({
        filter_kind: z.string().default(""),
        filter_tags: z.array(z.string()).default([]).describe("Only tools with all of these tags."),
        query: z
          .string()
          .default("")
          .describe("Words searched in name, description and tags, best match first; finds deferred tools too."),
        include_deferred: z.boolean().default(false),
      }),
      result: z.object({ tools: z.array(toolDefinition).default([]) }),
      example: {
        request: { filter_tags: ["files"] },
        result: { tools: [{ name: "read_file", description: "Reads a text file of the workspace.", tags: ["files"] }] },
      },
    }),
    call: call("tool/call/req", "tool/call/resp", {
      about: { access: "write", resource: "tool", from: "tool_name" },
      doc: "Runs a tool. Its arguments are checked against its JSON Schema first.",
      aliases: {
        "tool/call": "tool/call/resp",
        "mcp/call_tool": "mcp/call_tool/resp",
        "mcp/call_tool/req": "mcp/call_tool/resp",
      },
      request: z.object({
        session_id: z.string().default(""),
        tool_name: z.string().default(""),
        arguments: jsonObject.default({}),
        correlation_id: z.string().default(""),
        streaming: z
          .boolean()
          .default(false)
          .describe("Send events while the tool runs, instead of collecting them in the result."),
        timeout: z.number().min(0).default(30).describe("Seconds; 0 for the default of the tool or the host."),
      }),
      result: z.object({ data: toolResult, created_at: z.number() }),
      example: {
        request: { tool_name: "echo", arguments: { text: "hello" } },
        result: {
          data: { success: true, tool_name: "echo", data: { text: "hello" }, duration_ms: 1 },
          created_at: 1789000000.5,
        },
      },
    }),
  },
  pushes: { changed: toolsChanged },
});
