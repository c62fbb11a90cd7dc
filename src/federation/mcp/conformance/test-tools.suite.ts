// The tools that the conformance suite of the MCP project requires by name, as tools of an A2E host.
import { mcp } from "../../../caps/mcp/protocol.ts";
import { defineTool } from "../../../caps/tools/definition/define-tool.ts";
import type { SessionContext } from "../../../plugin/plugin.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../../protocol/json.ts";

/** One red pixel. */
export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** An audio file without samples. */
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const nothing = { type: "object", properties: {} } as const;
const text = (value: string) => ({ type: "text", text: value });
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

function returning(name: string, content: JsonObject[]): CatalogueTool {
  return defineTool({ name, description: `Returns ${name}.`, input: nothing, run: () => ({ content }) });
}

const image = { type: "image", data: png, mimeType: "image/png" };

export const testTools: readonly CatalogueTool[] = [
  returning("test_simple_text", [text("This is a simple text response for testing.")]),
  returning("test_image_content", [image]),
  returning("test_audio_content", [{ type: "audio", data: wav, mimeType: "audio/wav" }]),
  returning("test_embedded_resource", [
    {
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    },
  ]),
  returning("test_multiple_content_types", [
    text("Multiple content types test:"),
    image,
    {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}',
      },
    },
  ]),
  returning("test_reconnection", [text("Reconnection test completed successfully")]),
  defineTool({
    name: "test_error_handling",
    description: "Fails.",
    input: nothing,
    run() {
      throw new Error("This tool intentionally returns an error for testing");
    },
  }),
  defineTool({
    name: "test_tool_with_logging",
    description: "Logs while it runs.",
    input: nothing,
    streaming: true,
    async run(_args, context) {
      for (const message of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        context.emit("log", { level: "info", message });
        await pause();
      }
      return "done";
    },
  }),
  defineTool({
    name: "test_tool_with_progress",
    description: "Tells how far it is.",
    input: nothing,
    streaming: true,
    async run(_args, context) {
      for (const progress of [0, 50, 100]) {
        context.emit("progress", { progress, total: 100 });
        await pause();
      }
      return "done";
    },
  }),
  defineTool({
    name: "json_schema_2020_12_tool",
    description: "Tool with JSON Schema 2020-12 features",
    input: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: { address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
      additionalProperties: false,
    },
    run: () => "done",
  }),
];

/** Tools that ask the agent while they run: they belong to a session. */
export function createAskingTools(context: SessionContext): CatalogueTool[] {
  const elicit = async (message: string, properties: JsonObject, required: string[] = []) => {
    const requested_schema = { type: "object", properties, required };
    const { action, content } = await context.ask(mcp.asks.elicit, { server_id: "test", message, requested_schema });
    return `action=${action}, content=${JSON.stringify(content)}`;
  };
  return [
    defineTool({
      name: "test_sampling",
      description: "Asks for a completion.",
      input: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
      async run({ prompt }) {
        const messages = [{ role: "user", content: { type: "text", text: String(prompt) } }];
        const { content } = await context.ask(mcp.asks.sample, { server_id: "test", messages, max_tokens: 100 });
        return `LLM response: ${JSON.stringify(content)}`;
      },
    }),
    defineTool({
      name: "test_elicitation",
      description: "Asks the user.",
      input: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
      run: ({ message }) =>
        elicit(
          String(message),
          {
            username: { type: "string", description: "User's response" },
            email: { type: "string", description: "User's email address" },
          },
          ["username", "email"],
        ),
    }),
    defineTool({
      name: "test_elicitation_sep1034_defaults",
      description: "Asks the user, with defaults.",
      input: nothing,
      run: () =>
        elicit("With defaults", {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        }),
    }),
    defineTool({
      name: "test_elicitation_sep1330_enums",
      description: "Asks the user to choose.",
      input: nothing,
      run: () => elicit("Choose", enumVariants),
    }),
  ];
}

const titled = (ending: string) =>
  ["First", "Second", "Third"].map((title, index) => ({ const: `value${index + 1}`, title: `${title} ${ending}` }));

const enumVariants: JsonObject = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: { type: "string", oneOf: titled("Option") },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
};
