// Skills appear twice: as tools for the model, and as prompts for the user.
import type { GetPromptResult, Prompt, Tool } from "@modelcontextprotocol/server";
import { type SkillDefinition, skill } from "../../../caps/skill/protocol.ts";
import type { A2EClient } from "../../../client/client.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { type CallOutcome, toCallResult } from "./content.ts";
import type { PromptSource } from "./prompt-source.ts";
import type { CallScope, ToolSource } from "./tool-source.ts";

const prefix = "skill_";

export function createSkills(client: A2EClient): ToolSource & { prompts: PromptSource } {
  const discover = async (): Promise<readonly SkillDefinition[]> => {
    if (!client.has(skill.name)) return [];
    const { skills } = await client.rpc(skill.calls.discover, {});
    return skills.filter(({ status }) => status !== "Blocked");
  };
  const run = async (
    name: string,
    args: JsonObject,
    { signal, onEvent, traceparent }: CallScope,
  ): Promise<CallOutcome> => {
    const request = { name, arguments: args, timeout: 0 };
    const options = { signal, ...(onEvent && { onEvent }), ...(traceparent && { traceparent }), timeoutMs: 0 };
    const { data, error } = await client.rpc(skill.calls.call, request, options);
    return data ?? { ...noOutcome, error: JSON.stringify(error) };
  };

  return {
    list: async () => (await discover()).map(toTool),
    call(name, args, scope) {
      if (!client.has(skill.name) || !name.startsWith(prefix)) return undefined;
      return run(name.slice(prefix.length), args, scope).then((outcome) => ({ result: toCallResult(outcome) }));
    },
    prompts: {
      list: async () => (await discover()).map(toPrompt),
      async get(name, args, signal) {
        const definition = (await discover()).find((candidate) => candidate.name === name);
        if (definition === undefined) return undefined;
        if (definition.kind === "script") return toInvitation(definition, args);
        return toMessages(definition, await run(name, args, { signal }));
      },
      async complete(name, argument, value) {
        const definition = (await discover()).find((candidate) => candidate.name === name);
        return definition && valuesOf(definition, argument).filter((known) => known.startsWith(value));
      },
    },
  };
}

const noOutcome: CallOutcome = {
  success: false,
  data: null,
  summary: null,
  truncated: false,
  error: null,
  error_code: "skill_error",
};

function describe({ description, when_to_use, name }: SkillDefinition): string {
  return [description, when_to_use].filter((part) => part !== "").join(" ") || name;
}

function toTool(definition: SkillDefinition): Tool {
  const { name, input_schema, output_schema, kind, version, tags } = definition;
  return {
    name: `${prefix}${name}`,
    description: describe(definition),
    inputSchema: { ...input_schema, type: "object" },
    ...(kind === "script" && output_schema.type === "object"
      ? { outputSchema: output_schema as Tool["outputSchema"] & object }
      : {}),
    // Reading instructions has no effect; a script may do anything that its sandbox allows.
    annotations: { readOnlyHint: kind === "instructions" },
    _meta: { "a2e/capability": skill.name, "a2e/version": version, ...(tags === null ? {} : { "a2e/tags": tags }) },
  };
}

function toPrompt(definition: SkillDefinition): Prompt {
  const required = definition.input_schema.required;
  const names = definition.arguments ?? Object.keys(propertiesOf(definition));
  return {
    name: definition.name,
    description: describe(definition),
    arguments: names.map((name) => {
      const property = propertiesOf(definition)[name];
      const description = isJsonObject(property) ? property.description : undefined;
      return {
        name,
        ...(typeof description === "string" ? { description } : {}),
        required: Array.isArray(required) && required.includes(name),
      };
    }),
  };
}

function propertiesOf({ input_schema }: SkillDefinition): JsonObject {
  return isJsonObject(input_schema.properties) ? input_schema.properties : {};
}

function valuesOf(definition: SkillDefinition, argument: string): string[] {
  const property = propertiesOf(definition)[argument];
  const values: JsonValue = isJsonObject(property) ? (property.enum ?? []) : [];
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
}

function toMessages(definition: SkillDefinition, outcome: CallOutcome): GetPromptResult {
  const { data } = outcome;
  const instructions = isJsonObject(data) ? data.instructions : data;
  const text =
    outcome.success && typeof instructions === "string" ? instructions : (outcome.error ?? JSON.stringify(data));
  return { description: definition.description, messages: [{ role: "user", content: { type: "text", text } }] };
}

/** Showing a prompt must not run a script: the prompt asks the model to call it. */
function toInvitation(definition: SkillDefinition, args: JsonObject): GetPromptResult {
  const text = `Call the tool ${prefix}${definition.name} with these arguments: ${JSON.stringify(args)}`;
  return { description: definition.description, messages: [{ role: "user", content: { type: "text", text } }] };
}
