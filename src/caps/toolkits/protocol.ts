import * as z from "zod";
import { jsonObject } from "../../protocol/json.ts";
import { call, capability } from "../../protocol/table/capability.ts";

const toolkitStates = ["available", "installed", "configured", "running"] as const;
const toolkitScopes = ["session", "host"] as const;

const toolkitDefinition = z.object({
  name: z.string(),
  alias: z.string().default("").describe("The name under which it was installed, if that is not its own name."),
  description: z.string().default(""),
  category: z.string().default(""),
  tags: z.array(z.string()).default([]),
  icon_svg: z.string().nullable().default(null),
  schema: jsonObject
    .default({})
    .describe(
      "JSON Schema of the config. Values marked `format: password`, `writeOnly` or `x-secret` are never returned.",
    ),
  tools: z.array(z.string()).describe("Names of its tools; `tool/list` has them while the toolkit runs."),
  configured: z.boolean().default(false),
  version: z.string().default("1.0.0"),
  state: z.enum(toolkitStates).default("available"),
  scope: z
    .enum(toolkitScopes)
    .default("session")
    .describe("Whether each session has its own instance or all sessions share one."),
  config: jsonObject.default({}).describe("The current config, without secrets."),
  secrets: z.array(z.string()).default([]).describe("Paths of the secrets that are set."),
  error: z.string().default("").describe("Why a configured toolkit does not run, or why its last start failed."),
});

export type ToolkitDefinition = z.output<typeof toolkitDefinition>;
export type ToolkitScope = (typeof toolkitScopes)[number];

/** The answer of all calls that change a toolkit: the union of the documented shapes. */
const toolkitResult = z.object({
  toolkit_name: z.string().default(""),
  status: z
    .enum(["ok", "configured", "partial", "error"])
    .default("ok")
    .describe("`configured`: not started, as requested; `partial`: configured, but the start failed."),
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
  doc: "Groups of tools that an agent installs and configures; their tools are listed while they run.",
  spellings: ["toolkit"],
  errors: {
    unknown_toolkit: {
      retryable: false,
      doc: "No toolkit has this name; `detail.available` lists the toolkits of the host.",
    },
    not_installed: { retryable: false, doc: "The toolkit exists but is not installed in this session." },
    toolkit_conflict: { retryable: false, doc: "The name of the toolkit or of one of its tools is already in use." },
    toolkit_limit: { retryable: false, doc: "The session has reached its limit of installed toolkits." },
    toolkit_error: {
      retryable: true,
      doc: "The toolkit could not start with this config; the earlier config stays in effect.",
    },
  },
  resources: { toolkit: "A toolkit, by its name or by the alias under which it is installed." },
  calls: {
    list: call("toolkit/list/req", "toolkit/list/resp", {
      about: { access: "read", resource: "toolkit", shows: { at: "toolkits", name: "name", usedBy: "install" } },
      doc: "Lists the toolkits of this host, and those installed in this session, that meet all given conditions.",
      aliases: { "toolkit/list": "toolkit/list/resp" },
      request: z.object({
        filter_kind: z.string().default("").describe("The category of the toolkits."),
        filter_tags: z.array(z.string()).default([]).describe("Toolkits that have all of these tags."),
        filter_state: z.enum(["", ...toolkitStates]).default(""),
      }),
      result: z.object({ toolkits: z.array(toolkitDefinition).default([]) }),
      example: { request: { filter_tags: ["weather"] }, result: { toolkits: [{ ...example, tags: ["weather"] }] } },
    }),
    configure: call("toolkit/configure/req", "toolkit/configure/resp", {
      about: { access: "write", resource: "toolkit", from: ["toolkit_name", "name"] },
      doc: "Checks a config, stores it in place of the earlier one and starts the toolkit. Installs the toolkit if necessary.",
      aliases: { "toolkit/configure": "toolkit/configure/resp" },
      mirrors: { name: "toolkit_name" },
      concealed: ["config", "schema"],
      request: z.object({
        session_id: z.string().default(""),
        toolkit_name: toolkitName.describe("The name of the toolkit, or the alias under which it was installed."),
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
      about: { access: "write", resource: "toolkit", from: ["toolkit_name", "name"] },
      doc: "Installs a toolkit in this session, under the alias if there is one, and configures it if there is a config.",
      aliases: { "toolkit/install": "toolkit/install/resp" },
      mirrors: { name: "toolkit_name" },
      concealed: ["config"],
      request: z.object({
        toolkit_name: toolkitName,
        name: toolkitName.describe("The same as `toolkit_name`."),
        alias: toolkitName.describe(
          "Allows a session to install a toolkit more than once; the names of its tools begin with the alias.",
        ),
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
      about: { access: "write", resource: "toolkit", from: ["toolkit_name", "name"] },
      doc: "Stops a toolkit, removes its tools and deletes its config.",
      aliases: { "toolkit/uninstall": "toolkit/uninstall/resp" },
      mirrors: { name: "toolkit_name" },
      request: z.object({ toolkit_name: toolkitName, name: toolkitName.describe("The same as `toolkit_name`.") }),
      result: toolkitResult,
      example: { request: { toolkit_name: "weather" }, result: { toolkit_name: "weather", toolkit: example } },
    }),
  },
});
