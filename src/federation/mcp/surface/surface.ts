// Everything of one session that an MCP client sees.
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { A2EClient } from "../../../client/client.ts";
import { A2EClientError } from "../../../client/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { createBridgedServers } from "./bridged-servers.ts";
import { type CallTool, createCapabilityTools } from "./capability-tools.ts";
import { createCatalogueTools } from "./catalogue-tools.ts";
import { toErrorResult } from "./content.ts";
import { createSkills } from "./skill-tools.ts";
import type { CallScope, ToolAnswer } from "./tool-source.ts";
import { createWorkspaceResources } from "./workspace-resources.ts";

export type Surface = ReturnType<typeof createSurface>;

export function createSurface(client: A2EClient, callTools: readonly CallTool[]) {
  const catalogue = createCatalogueTools(client);
  const skills = createSkills(client);
  const bridged = createBridgedServers(client);
  const hasTools = client.has("tools");
  const others = [createCapabilityTools(client, callTools), skills];
  const prompts = [skills.prompts, bridged.prompts];
  const resources = [createWorkspaceResources(client, catalogue), bridged.resources];

  return {
    // A tool in the catalogue takes precedence over a generated tool of the same name, as for every agent.
    listTools: async () => firstOfEach(await listAll(hasTools ? [catalogue, ...others] : others), ({ name }) => name),

    async callTool(name: string, args: JsonObject, scope: CallScope): Promise<ToolAnswer> {
      const source = hasTools && (await catalogue.has(name)) ? [catalogue] : hasTools ? [...others, catalogue] : others;
      try {
        for (const candidate of source) {
          const result = await candidate.call(name, args, scope);
          if (result !== undefined) return result;
        }
      } catch (error) {
        if (!(error instanceof A2EClientError)) throw error;
        if (!error.is("unknown_tool") && !error.is("unknown_skill")) return { result: toErrorResult(error) };
      }
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown tool: ${name}`);
    },

    listPrompts: async () => firstOfEach(await listAll(prompts), ({ name }) => name),

    async getPrompt(name: string, args: JsonObject, signal: AbortSignal) {
      for (const source of prompts) {
        const prompt = await source.get(name, args, signal);
        if (prompt !== undefined) return prompt;
      }
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown prompt: ${name}`);
    },

    async completePrompt(name: string, argument: string, value: string): Promise<readonly string[]> {
      for (const source of prompts) {
        const values = await source.complete(name, argument, value);
        if (values !== undefined) return values;
      }
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown prompt: ${name}`);
    },

    listResources: async () => firstOfEach(await listAll(resources), ({ uri }) => uri),
    listTemplates: async () =>
      firstOfEach(
        (await Promise.all(resources.map((source) => source.templates()))).flat(),
        ({ uriTemplate }) => uriTemplate,
      ),

    async readResource(uri: string, signal: AbortSignal) {
      for (const source of resources) {
        const result = await source.read(uri, signal);
        if (result !== undefined) return result;
      }
      throw new ResourceNotFoundError(uri);
    },

    async completeResource(template: string, value: string): Promise<readonly string[]> {
      for (const source of resources) {
        const values = await source.complete(template, value);
        if (values !== undefined) return values;
      }
      return [];
    },

    async watchResource(uri: string, isWatched: boolean): Promise<void> {
      for (const source of resources) if ((await source.watch(uri, isWatched)) === true) return;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "changes of this resource cannot be watched", { uri });
    },
  };
}

async function listAll<Item>(sources: readonly { list(): Promise<readonly Item[]> }[]): Promise<Item[]> {
  return (await Promise.all(sources.map((source) => source.list()))).flat();
}

/** Drops later entries with the same key: only the first can be requested, and cursors need unique keys. */
function firstOfEach<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  const known = new Map<string, Item>();
  for (const item of items) if (!known.has(keyOf(item))) known.set(keyOf(item), item);
  return [...known.values()];
}
