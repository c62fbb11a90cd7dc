// The tools of the host, as the session lists them: with the same policy, checks and audit as for any agent.
import type { Tool } from "@modelcontextprotocol/server";
import { type ToolDefinition, tools } from "../../../caps/tools/protocol.ts";
import type { A2EClient } from "../../../client/client.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { toCallResult } from "./content.ts";
import type { ToolSource } from "./tool-source.ts";

export interface CatalogueTools extends ToolSource {
  has(name: string): Promise<boolean>;
}

export function createCatalogueTools(client: A2EClient): CatalogueTools {
  let listed: Promise<Map<string, Tool>> | undefined;
  const forget = () => {
    listed = undefined;
  };
  client.onPush(tools.pushes.changed, forget);
  const list = (): Promise<Map<string, Tool>> => {
    if (listed === undefined) {
      // MCP has no deferred tools: a client can call only listed tools.
      const asked = client.rpc(tools.calls.list, { include_deferred: true }).then(({ tools: definitions }) => {
        return new Map(definitions.map((definition) => [definition.name, toTool(definition)]));
      });
      asked.catch(forget);
      listed = asked;
    }
    return listed;
  };
  return {
    list: async () => [...(await list()).values()],
    has: async (name) => (await list()).has(name),
    async call(name, args, { signal, onEvent, traceparent }) {
      // Looked up before the call: a completed call must not fail because its schema cannot be listed.
      const outputSchema = (await list()).get(name)?.outputSchema;
      const request = { tool_name: name, arguments: args, timeout: 0 };
      const { data } = await client.rpc(tools.calls.call, request, {
        signal,
        ...(onEvent && { onEvent }),
        ...(traceparent && { traceparent }),
        timeoutMs: 0,
      });
      return { result: toCallResult(data, outputSchema), outputSchema };
    },
  };
}

function toTool(definition: ToolDefinition): Tool {
  const { name, description, input_schema, output_schema, annotations } = definition;
  return {
    name,
    description: description === "" ? name : description,
    inputSchema: { ...input_schema, type: "object" },
    ...(output_schema === undefined ? {} : { outputSchema: output_schema as Tool["outputSchema"] & object }),
    annotations: {
      ...(definition.idempotent ? { idempotentHint: true } : {}),
      // Only for built-in tools: in other tools, the tag may have another meaning.
      ...(definition.source === "builtin" && definition.tags.includes("read") ? { readOnlyHint: true } : {}),
      ...annotations,
    },
    _meta: toMeta(definition),
  };
}

function toMeta({ tags, version, source, toolkit, defer_loading }: ToolDefinition): JsonObject {
  return {
    "a2e/version": version,
    ...(tags.length === 0 ? {} : { "a2e/tags": tags }),
    ...(source === "" ? {} : { "a2e/source": source }),
    ...(toolkit === null ? {} : { "a2e/toolkit": toolkit }),
    ...(defer_loading ? { "a2e/deferred": true } : {}),
  };
}
