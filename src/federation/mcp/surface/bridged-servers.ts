// Resources and prompts of the MCP servers behind this host. Their tools are in the catalogue with all others.
import type { PromptArgument, PromptMessage } from "@modelcontextprotocol/server";
import { isSpecType } from "@modelcontextprotocol/server";
import { mcp } from "../../../caps/mcp/protocol.ts";
import type { A2EClient } from "../../../client/client.ts";
import { A2EClientError } from "../../../client/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { ResultOf } from "../../../protocol/table/capability.ts";
import { mcpLimits } from "../limits.ts";
import { toContentBlock } from "./content-blocks.ts";
import type { PromptSource } from "./prompt-source.ts";
import type { ResourceSource } from "./resource-source.ts";

export function createBridgedServers(client: A2EClient): { prompts: PromptSource; resources: ResourceSource } {
  return { prompts: createPrompts(client), resources: createResources(client) };
}

function createResources(client: A2EClient): ResourceSource {
  const isThere = () => client.has(mcp.name);
  return {
    async list() {
      if (!isThere()) return [];
      const all = await collect(async (cursor, signal) => {
        const { resources, next_cursor } = await client.rpc(mcp.calls.listResources, { cursor }, { signal });
        return { items: resources, next_cursor };
      });
      return all.map(({ uri, name, description, mime_type, size, server_id }) => ({
        uri,
        name: name === "" ? uri : name,
        ...(description === "" ? {} : { description }),
        ...(mime_type === "" ? {} : { mimeType: mime_type }),
        ...(size === undefined ? {} : { size }),
        _meta: { "a2e/server": server_id },
      }));
    },
    async templates() {
      if (!isThere()) return [];
      const all = await collect(async (cursor, signal) => {
        const { templates, next_cursor } = await client.rpc(mcp.calls.listResourceTemplates, { cursor }, { signal });
        return { items: templates, next_cursor };
      });
      return all.map(({ uri_template, name, description, mime_type, server_id }) => ({
        uriTemplate: uri_template,
        name: name === "" ? uri_template : name,
        ...(description === "" ? {} : { description }),
        ...(mime_type === "" ? {} : { mimeType: mime_type }),
        _meta: { "a2e/server": server_id },
      }));
    },
    read: (uri, signal) =>
      unlessUnknown(async () => {
        if (!isThere()) return undefined;
        const { contents } = await client.rpc(mcp.calls.readResource, { uri }, { signal, timeoutMs: 0 });
        return {
          contents: contents.map(({ uri: read, mime_type, type, text, blob }) => ({
            uri: read,
            mimeType: mime_type,
            ...(type === "blob" ? { blob } : { text }),
          })),
        };
      }),
    complete: async () => undefined,
    watch: (uri, isWatched) =>
      unlessUnknown(async () => {
        if (!isThere()) return undefined;
        await client.rpc(isWatched ? mcp.calls.subscribeResource : mcp.calls.unsubscribeResource, { uri });
        return true;
      }),
  };
}

function createPrompts(client: A2EClient): PromptSource {
  /** Prompts by the names that clients see. */
  const list = async () => {
    if (!client.has(mcp.name)) return new Map<string, BridgedPrompt>();
    return byShownName(
      await collect(async (cursor, signal) => {
        const { prompts, next_cursor } = await client.rpc(mcp.calls.listPrompts, { cursor }, { signal });
        return { items: prompts, next_cursor };
      }),
    );
  };
  return {
    async list() {
      return [...(await list())].map(([name, { description, arguments: args, server_id }]) => ({
        name,
        ...(description === "" ? {} : { description }),
        arguments: args.filter((argument) => isSpecType.PromptArgument(argument)) as unknown as PromptArgument[],
        _meta: { "a2e/server": server_id },
      }));
    },
    get: (shownName, args, signal) =>
      unlessUnknown(async () => {
        if (!client.has(mcp.name)) return undefined;
        const get = async (name: string, server_id: string) => {
          const request = { name, server_id, arguments: args };
          const answer = await client.rpc(mcp.calls.getPrompt, request, { signal, timeoutMs: 0 });
          return { description: answer.description, messages: answer.messages.map(toMessage) };
        };
        // The server is read from the name and not from the lists, which would wait for every server.
        const [, server = "", name = ""] = /^(.+?)__(.+)$/s.exec(shownName) ?? [];
        const told = server === "" ? undefined : await unlessUnknown(() => get(name, server), noSuchServer);
        return told ?? get(shownName, "");
      }),
    async complete(name) {
      // The bridge does not ask its servers for completions.
      return (await list()).has(name) ? [] : undefined;
    },
  };
}

type BridgedPrompt = ResultOf<typeof mcp.calls.listPrompts>["prompts"][number];

/** A name that several servers use gets the prefix of its server, as tools do. */
function byShownName(prompts: readonly BridgedPrompt[]): Map<string, BridgedPrompt> {
  const counts = new Map<string, number>();
  for (const { name } of prompts) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    prompts.map((prompt) => {
      const { name, server_id } = prompt;
      return [counts.get(name) === 1 ? name : `${server_id}__${name}`, prompt];
    }),
  );
}

function toMessage({ role, content }: { role: string; content: JsonObject }): PromptMessage {
  return {
    role: role === "assistant" ? "assistant" : "user",
    content: toContentBlock(content) ?? { type: "text", text: JSON.stringify(content) },
  };
}

/** All pages that arrive in time: a server that hangs must not hide the others. */
async function collect<Item>(
  readPage: (cursor: string, signal: AbortSignal) => Promise<{ items: Item[]; next_cursor: string }>,
): Promise<Item[]> {
  const all: Item[] = [];
  const signal = AbortSignal.timeout(mcpLimits.bridgedListMs);
  try {
    for (let cursor = ""; all.length < maxCollected; ) {
      const { items, next_cursor } = await readPage(cursor, signal);
      all.push(...items);
      if (next_cursor === "" || next_cursor === cursor) break;
      cursor = next_cursor;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return all;
}

/** Stops at a server that always sends a further page. */
const maxCollected = 20 * mcpLimits.maxListed;

const noSuchThing = ["mcp_resource_not_found", "mcp_prompt_not_found"];
/** The part before the underscores may not be a server, or a server without prompts. */
const noSuchServer = [...noSuchThing, "mcp_server_not_found", "mcp_capability_missing"];

async function unlessUnknown<Value>(
  ask: () => Promise<Value | undefined>,
  codes: readonly string[] = noSuchThing,
): Promise<Value | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof A2EClientError && codes.some((code) => error.is(code))) return undefined;
    throw error;
  }
}
