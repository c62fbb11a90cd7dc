// Memory, environments, plans and chains as tools: generated from the tables, so that they match the protocol.
import type { Tool } from "@modelcontextprotocol/server";
import * as z from "zod";
import { memory } from "../../../caps/memory/protocol.ts";
import type { A2EClient } from "../../../client/client.ts";
import { A2EClientError } from "../../../client/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Call, Capability } from "../../../protocol/table/capability.ts";
import { toStructuredResult } from "./content.ts";
import { annotationsOf, toToolName } from "./exposed-calls.ts";
import type { CallScope, ToolAnswer, ToolSource } from "./tool-source.ts";

/** A call of a table and the tool that it appears as. Created once for all sessions. */
export interface CallTool {
  readonly capability: string;
  readonly call: Call;
  readonly tool: Tool;
}

/** Fields that control the protocol and mean nothing to a model. */
const hiddenFields = ["session_id", "correlation_id", "streaming", "llm_override"];

export function toCallTools(tables: readonly Capability[]): CallTool[] {
  return tables.flatMap(({ name: capability, calls }) => {
    return Object.values(calls).flatMap((call): CallTool[] => {
      if (call.asTool === undefined) return [];
      const tool: Tool = {
        name: toToolName(call),
        description: call.doc,
        inputSchema: toInputSchema(call),
        outputSchema: toJsonSchema(call.result, "output"),
        annotations: annotationsOf[call.asTool.effect],
        _meta: { "a2e/capability": capability, "a2e/type": call.type },
      };
      return [{ capability, call, tool }];
    });
  });
}

export function createCapabilityTools(client: A2EClient, callTools: readonly CallTool[]): ToolSource {
  const own = callTools.filter(({ capability }) => client.has(capability));
  const byName = new Map(own.map((entry) => [entry.tool.name, entry]));
  return {
    list: async () => own.map(({ tool }) => tool),
    call(name, args, scope) {
      const entry = byName.get(name);
      return entry === undefined ? undefined : callWithMemory(client, entry, args, scope);
    },
  };
}

/** An MCP client does not open a memory first; without `memory_id` it means the default memory. */
async function callWithMemory(
  client: A2EClient,
  entry: CallTool,
  args: JsonObject,
  scope: CallScope,
): Promise<ToolAnswer> {
  try {
    return await callThrough(client, entry, args, scope);
  } catch (error) {
    const isUnopened = error instanceof A2EClientError && error.is("memory_not_found") && (args.memory_id ?? "") === "";
    if (!isUnopened) throw error;
    await client.rpc(memory.calls.init, {}, { signal: scope.signal });
    return callThrough(client, entry, args, scope);
  }
}

async function callThrough(
  client: A2EClient,
  { call, tool: { outputSchema } }: CallTool,
  args: JsonObject,
  { signal, onEvent, traceparent }: CallScope,
): Promise<ToolAnswer> {
  const result = await client.rpc(call, args, {
    signal,
    ...(onEvent && { onEvent }),
    ...(traceparent && { traceparent }),
    timeoutMs: 0,
  });
  return { result: toStructuredResult(result as JsonObject), outputSchema };
}

type ObjectSchema = Tool["inputSchema"];

function toInputSchema(call: Call): ObjectSchema {
  const schema = toJsonSchema(call.request, "input");
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name]) => !hiddenFields.includes(name)),
  );
  return { ...schema, properties };
}

function toJsonSchema(schema: z.ZodObject, io: "input" | "output"): ObjectSchema {
  const { $schema: _draft, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", override: withoutBounds });
  return rest as ObjectSchema;
}

/** The bounds of safe integers are omitted: they would be repeated a hundred times in one list. */
function withoutBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
