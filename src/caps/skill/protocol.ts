import * as z from "zod";
import { eventPayload } from "../../protocol/core.ts";
import { jsonObject, jsonValue } from "../../protocol/json.ts";
import { ask, call, capability, push } from "../../protocol/table/capability.ts";

export const skillStatuses = ["Created", "Blocked", "Published", "Archived"] as const;
export const skillSources = ["project", "user", "system"] as const;

const nameText = z.string().max(200);
const skillVersion = z
  .string()
  .max(64)
  .default("")
  .describe("Selects a version; without it, the newest. `name@version` is the same.");

const definition = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  triggers: z.array(z.string()),
  tools: z
    .array(z.string())
    .nullable()
    .describe("Tools that the skill lists in `allowed-tools`; a hint, not a permission."),
  toolkits: z.array(z.string()).nullable(),
  status: z.enum(skillStatuses),
  input_schema: jsonObject.describe("JSON Schema of the arguments."),
  output_schema: jsonObject.describe("JSON Schema of `data`; empty if the skill declares none."),
  instructions: z.string().nullable().describe("Always null in lists: a call returns them."),
  file_path: z.string().nullable().describe("Always null: paths of the host are not revealed."),
  llm_config: jsonObject.nullable().describe("Always null: models and their keys belong to the agent."),
  arguments: z.array(z.string()).nullable().describe("Names of the arguments."),
  when_to_use: z.string(),
  argument_hint: z.string(),
  source: z.enum(skillSources).describe("The kind of folder that the skill was found in."),
  category: z.string().nullable(),
  categories: z.array(z.string()),
  tags: z.array(z.string()).nullable(),
  max_turns: z.int().nullable(),
  timeout_seconds: z.int().nullable(),
  icon: z.string().nullable(),
  metadata: jsonObject.nullable(),
  kind: z
    .enum(["instructions", "script"])
    .describe("Whether a call returns instructions for the agent or runs a script."),
  versions: z.array(z.string()).describe("All versions that can be selected, newest first."),
  license: z.string(),
  compatibility: z.string(),
  uses_llm: z.boolean().describe("Whether the skill may request completions from the agent (`skill/llm/req`)."),
});

const result = z.object({
  success: z.boolean(),
  data: jsonValue
    .nullable()
    .default(null)
    .describe("The result of the script; for instructions `{instructions, resources}`."),
  summary: jsonValue.nullable().default(null),
  truncated: z.boolean().nullable().default(false),
  error: z.string().nullable().default(null),
  error_code: z.string().nullable().default(null),
  duration_ms: z.int(),
  events: z.array(eventPayload).default([]).describe("The events of the call, even if they were streamed."),
});

const llmMessage = z.object({ role: z.enum(["system", "user", "assistant"]), content: z.string() });

/** The completion request of a script. */
export const llmRequest = z.object({
  messages: z.array(llmMessage).min(1).max(200),
  max_tokens: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  stop: z.array(z.string().max(200)).max(16).optional(),
});

export type SkillDefinition = z.output<typeof definition>;
export type SkillStatus = (typeof skillStatuses)[number];
export type SkillSource = (typeof skillSources)[number];
export type SkillResult = z.output<typeof result>;

const exampleDefinition = {
  name: "plan-research",
  version: "1.0.0",
  description: "Plans how to research a topic before any source is read.",
  triggers: ["research"],
  tools: null,
  toolkits: null,
  status: "Published",
  input_schema: { type: "object", properties: { topic: { type: "string" } }, required: ["topic"] },
  output_schema: {},
  instructions: null,
  file_path: null,
  llm_config: null,
  arguments: ["topic"],
  when_to_use: "Before a question is researched.",
  argument_hint: "topic",
  source: "system",
  category: "research",
  categories: ["research"],
  tags: ["research", "writing"],
  max_turns: null,
  timeout_seconds: null,
  icon: null,
  metadata: {},
  kind: "instructions",
  versions: ["1.0.0"],
  license: "MIT",
  compatibility: "",
  uses_llm: false,
} as const satisfies z.input<typeof definition>;

export const skillsChanged = push("skill/changed", {
  doc: "Skills were added, changed or removed. A skill is listed by its name if any of its versions changed. An extension of ours.",
  payload: z.object({
    added: z.array(z.string()).default([]),
    changed: z.array(z.string()).default([]),
    removed: z.array(z.string()).default([]),
  }),
  example: { added: ["plan-research"], changed: [], removed: [] },
});

export const skill = capability("skill", {
  doc: "Folders of instructions and scripts in the Agent Skills format: find them, call them, read their files.",
  spellings: ["skills"],
  event: "skill/event",
  errors: {
    unknown_skill: {
      retryable: false,
      doc: "No skill has this name or version; `detail.similar` lists similar names, `detail.versions` the versions.",
    },
    skill_error: { retryable: true, doc: "The skill failed, or its result does not match its output schema." },
    unknown_resource: { retryable: false, doc: "The skill has no such file, or the file may not be read." },
  },
  resources: { skill: "A skill, by its name without its version." },
  calls: {
    discover: call("skill/discover/req", "skill/discover/resp", {
      about: { access: "read", resource: "skill", shows: { at: "skills", name: "name", usedBy: "call" } },
      doc: "Lists the skills that meet all given conditions, without their instructions.",
      aliases: { "skill/list": "skill/list/resp", "skill/list/req": "skill/list/resp" },
      request: z.object({
        filter_tags: z.array(z.string()).default([]).describe("Skills that have at least one of these tags."),
        filter_categories: z.array(z.string()).default([]).describe("Skills of at least one of these categories."),
        filter_status: z
          .array(z.enum(skillStatuses))
          .default([])
          .describe("Skills with one of these statuses. Without it, all but Archived."),
        include_archived: z.boolean().default(false),
        include_versions: z
          .boolean()
          .default(false)
          .describe("List every version instead of the one that a call would use."),
      }),
      result: z.object({ skills: z.array(definition).default([]) }),
      example: { request: { filter_tags: ["research"] }, result: { skills: [exampleDefinition] } },
    }),
    call: call("skill/call/req", "skill/call/resp", {
      about: { access: "write", resource: "skill", from: "name", nameEndsAt: "@" },
      doc: "Returns the instructions of a skill with its arguments filled in, or runs its script in a sandbox.",
      request: z.object({
        name: nameText.default(""),
        skill_version: skillVersion,
        arguments: jsonObject.default({}),
        correlation_id: z.string().default(""),
        timeout: z.number().min(0).default(0).describe("Seconds; 0 means the default of the skill or of the host."),
        streaming: z
          .boolean()
          .default(true)
          .describe("Send events while the skill runs; they are in the result as well."),
        llm_override: jsonObject
          .nullable()
          .default(null)
          .describe("Accepted and ignored: it has credentials of the agent, which must not reach a skill."),
        metadata: jsonObject.default({}).describe("Accepted and not passed to the skill."),
      }),
      result: z.object({
        name: z.string(),
        skill_version: z.string().describe("The version that ran."),
        data: result.nullable(),
        error: jsonObject.nullable().default(null),
        created_at: z.number(),
      }),
      example: {
        request: { name: "plan-research", arguments: { topic: "tides" } },
        result: {
          name: "plan-research",
          skill_version: "1.0.0",
          data: {
            success: true,
            data: { instructions: "Research tides …", resources: [] },
            duration_ms: 2,
          },
          created_at: 1789000000.5,
        },
      },
    }),
    read: call("skill/read/req", "skill/read/resp", {
      asTool: { effect: "reads", name: "skill_read_file" },
      about: { access: "read", resource: "skill", from: "name", nameEndsAt: "@" },
      doc: "Reads a file of a skill that its instructions refer to. An extension of ours.",
      request: z.object({
        name: nameText,
        skill_version: skillVersion,
        path: z.string().max(1024).default("SKILL.md").describe("Relative to the folder of the skill."),
        encoding: z.enum(["text", "base64"]).default("text"),
        offset: z.int().min(0).default(0).describe("In bytes."),
        max_bytes: z.int().min(1).optional().describe("Capped by a limit of the host."),
      }),
      result: z.object({
        name: z.string(),
        skill_version: z.string(),
        path: z.string(),
        encoding: z.enum(["text", "base64"]),
        content: z.string(),
        size: z.int().describe("Size of the whole file in bytes."),
        next_offset: z.int().nullable().describe("The offset of the next piece; null at the end of the file."),
      }),
      example: {
        request: { name: "plan-research", path: "references/sources.md" },
        result: {
          name: "plan-research",
          skill_version: "1.0.0",
          path: "references/sources.md",
          encoding: "text",
          content: "# Sources\n",
          size: 10,
          next_offset: null,
        },
      },
    }),
  },
  asks: {
    llm: ask("skill/llm/req", "skill/llm/resp", {
      doc: "A running skill requests a completion; the agent answers with a model of its choice. An extension of ours.",
      request: llmRequest.extend({
        skill_name: z.string(),
        skill_version: z.string(),
        call_id: z.string().describe("The id of the skill/call request."),
        correlation_id: z.string().default("").describe("The `correlation_id` of the skill/call request."),
      }),
      result: z.object({
        content: z.string(),
        model: z.string().default(""),
        stop_reason: z.string().default(""),
      }),
      example: {
        request: {
          skill_name: "title-text",
          skill_version: "1.0.0",
          call_id: "0f5a1c0d5b9e4c8f0000000000000001",
          messages: [{ role: "user", content: "A title for: …" }],
        },
        result: { content: "Tides", model: "any-model" },
      },
    }),
  },
  pushes: { changed: skillsChanged },
});
