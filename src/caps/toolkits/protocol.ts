import * as z from "zod";
import { call, capability } from "../../protocol/capability.ts";
import { jsonObject } from "../../protocol/json.ts";

const toolkitStates = ["available", "installed", "configured", "running"] as const;
const toolkitScopes = ["session", "host"] as const;

const toolkitDefinition = z.object({
  name: z.string(),
  alias: z.string().default("").describe("The name under which it was installed, where that is another one."),
  description: z.string().default(""),
  category: z.string().default(""),
  tags: z.array(z.string()).default([]),
  icon_svg: z.string().nullable().default(null),
  schema: jsonObject
    .default({})
    .describe(
      "JSON Schema of its config. Values marked `format: password`, `writeOnly` or `x-secret` are never returned.",
    ),
  tools: z.array(z.string()).describe("Names of its tools; they are in `tool/list` while it runs."),
  configured: z.boolean().default(false),
  version: z.string().default("1.0.0"),
  state: z.enum(toolkitStates).default("available"),
  scope: z.enum(toolkitScopes).default("session").describe("Whether each session has its own or all share one."),
  config: jsonObject.default({}).describe("What it was configured with, without secrets."),
  secrets: z.array(z.string()).default([]).describe("Paths of the secrets that are set."),
  error: z
    .string()
    .default("")
    .describe("Why it does not run although it is configured, or why it could not start when it was last needed."),
});

export type ToolkitDefinition = z.output<typeof toolkitDefinition>;
export type ToolkitScope = (typeof toolkitScopes)[number];

/** The answer to everything that changes a toolkit: the fields of the documented shapes together. */
const toolkitResult = z.object({
  toolkit_name: z.string().default(""),
  status: z
    .enum(["ok", "configured", "partial", "error"])
    .default("ok")
    .describe("`configured`: not started, as asked; `partial`: configured, and it could not start."),
  message: z.string().nullable().default(""),
  error: z.string().default(""),
  toolkit: toolkitDefinition,
});

const toolkitName = z.string().max(128).default("");

const example = {
  name: "weather",
  tools: ["weather__forecast"],
  schema: { type: "object", properties: { api_key: { type: "string", writeOnly: true } }, required: ["api_key"] },
};

export const toolkits = capability("toolkits", {
  doc: "Groups of tools that an agent installs and configures: listed as tools once they run.",
  spellings: ["toolkit"],
  errors: {
    unknown_toolkit: { retryable: false, doc: "No toolkit has this name; `detail.available` lists those there are." },
    not_installed: { retryable: false, doc: "The toolkit exists and is not installed here." },
    toolkit_conflict: { retryable: false, doc: "The name, or that of one of its tools, is taken." },
    toolkit_limit: { retryable: false, doc: "The session has installed as many toolkits as it may." },
    toolkit_error: {
      retryable: true,
      doc: "The toolkit could not start with this config; the earlier one still holds.",
    },
  },
  calls: {
    list: call("toolkit/list/req", "toolkit/list/resp", {
      doc: "Lists the toolkits of this host and those installed in this session; all given conditions must hold.",
      aliases: { "toolkit/list": "toolkit/list/resp" },
      request: z.object({
        filter_kind: z.string().default("").describe("Their category."),
        filter_tags: z.array(z.string()).default([]).describe("Toolkits that have every one of these tags."),
        filter_state: z.enum(["", ...toolkitStates]).default(""),
      }),
      result: z.object({ toolkits: z.array(toolkitDefinition).default([]) }),
      example: { request: { filter_tags: ["weather"] }, result: { toolkits: [{ ...example, tags: ["weather"] }] } },
    }),
    configure: call("toolkit/configure/req", "toolkit/configure/resp", {
      doc: "Checks a config, keeps it in place of the earlier one and starts the toolkit, installing it where it is not.",
      aliases: { "toolkit/configure": "toolkit/configure/resp" },
      mirrors: { name: "toolkit_name" },
      concealed: ["config", "schema"],
      request: z.object({
        session_id: z.string().default(""),
        toolkit_name: toolkitName.describe("Its name, or the alias under which it was installed."),
        config: jsonObject.default({}),
        name: toolkitName.describe("The same as `toolkit_name`."),
        schema: jsonObject.default({}).describe("The same as `config`."),
        start: z.boolean().default(true),
      }),
      result: toolkitResult,
      example: {
        request: { toolkit_name: "weather", config: { api_key: "k-123" } },
        result: {
          toolkit_name: "weather",
          status: "ok",
          toolkit: { ...example, configured: true, state: "running", secrets: ["api_key"] },
        },
      },
    }),
    install: call("toolkit/install/req", "toolkit/install/resp", {
      doc: "Installs a toolkit in this session, under an alias where given, and configures it where a config is given.",
      aliases: { "toolkit/install": "toolkit/install/resp" },
      mirrors: { name: "toolkit_name" },
      concealed: ["config"],
      request: z.object({
        toolkit_name: toolkitName,
        name: toolkitName.describe("The same as `toolkit_name`."),
        alias: toolkitName.describe("Lets a session have a toolkit more than once; its tools are named after it."),
        config: jsonObject.optional(),
      }),
      result: toolkitResult,
      example: {
        request: { toolkit_name: "weather", alias: "forecasts" },
        result: {
          toolkit_name: "forecasts",
          toolkit: { ...example, alias: "forecasts", tools: ["forecasts__forecast"], state: "installed" },
        },
      },
    }),
    uninstall: call("toolkit/uninstall/req", "toolkit/uninstall/resp", {
      doc: "Stops a toolkit, takes its tools away and forgets its config.",
      aliases: { "toolkit/uninstall": "toolkit/uninstall/resp" },
      mirrors: { name: "toolkit_name" },
      request: z.object({ toolkit_name: toolkitName, name: toolkitName.describe("The same as `toolkit_name`.") }),
      result: toolkitResult,
      example: { request: { toolkit_name: "weather" }, result: { toolkit_name: "weather", toolkit: example } },
    }),
  },
});
