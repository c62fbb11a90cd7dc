// Resources and prompts page by page: of one server, or of one after another of all that are ready.
import type { A2EError } from "../../protocol/errors.ts";
import type { Connection } from "./connection.ts";
import { toPrompt, toPromptResult, toResource, toResourceContent, toResourceTemplate } from "./content.ts";
import { isUriOnList } from "./patterns.ts";
import { capabilityMissing, promptNotFound, resourceNotFound } from "./problems.ts";
import { mcp } from "./protocol.ts";
import type { BridgedServer, Caller } from "./server.ts";
import type { SessionBridge } from "./session-bridge.ts";

interface PageRequest {
  readonly server_id: string;
  readonly cursor: string;
}

type ReadPage<Item> = (connection: Connection, cursor: string) => Promise<{ items: Item[]; next: string | undefined }>;

export async function listResources(bridge: SessionBridge, request: PageRequest, caller: Caller) {
  const { items, next } = await readPage(
    bridge,
    request,
    caller,
    "resources",
    (server) =>
      async ({ client }, cursor) => {
        const page = await client.listResources({ cursor }, optionsOf(caller));
        const { id, resourceAllowList } = server.config;
        const allowed = page.resources.filter(({ uri }) => isUriOnList(resourceAllowList, uri));
        return { items: allowed.map((resource) => toResource(resource, id)), next: page.nextCursor };
      },
  );
  return { resources: items, next_cursor: next };
}

export async function listResourceTemplates(bridge: SessionBridge, request: PageRequest, caller: Caller) {
  const { items, next } = await readPage(
    bridge,
    request,
    caller,
    "resources",
    (server) =>
      async ({ client }, cursor) => {
        const page = await client.listResourceTemplates({ cursor }, optionsOf(caller));
        const templates = page.resourceTemplates.map((template) => toResourceTemplate(template, server.config.id));
        return { items: templates, next: page.nextCursor };
      },
  );
  return { templates: items, next_cursor: next };
}

export async function listPrompts(bridge: SessionBridge, request: PageRequest, caller: Caller) {
  const { items, next } = await readPage(bridge, request, caller, "prompts", (server) => async ({ client }, cursor) => {
    const page = await client.listPrompts({ cursor }, optionsOf(caller));
    return { items: page.prompts.map((prompt) => toPrompt(prompt, server.config.id)), next: page.nextCursor };
  });
  return { prompts: items, next_cursor: next };
}

export async function readResource(bridge: SessionBridge, uri: string, server_id: string, caller: Caller) {
  const candidates = server_id === "" ? offering(bridge, "resources") : [bridge.server(server_id)];
  const allowed = candidates.filter(({ config }) => isUriOnList(config.resourceAllowList, uri));
  return firstAnswer(allowed, server_id, resourceNotFound(uri, server_id), (server) =>
    server.use(caller, async ({ client }) => {
      const { contents } = await client.readResource({ uri }, optionsOf(caller));
      return { contents: contents.map(toResourceContent), server_id: server.config.id };
    }),
  );
}

export async function getPrompt(
  bridge: SessionBridge,
  { name, arguments: given, server_id }: { name: string; arguments: Record<string, unknown>; server_id: string },
  caller: Caller,
) {
  const candidates = server_id === "" ? offering(bridge, "prompts") : [bridge.server(server_id)];
  // Arguments of prompts are text; what an agent sends as a number is meant as one.
  const texts = Object.entries(given).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return firstAnswer(candidates, server_id, promptNotFound(name, server_id), (server) =>
    server.use(caller, async ({ client }) => {
      const result = await client.getPrompt({ name, arguments: Object.fromEntries(texts) }, optionsOf(caller));
      return toPromptResult(result, server.config.id);
    }),
  );
}

/** JSON-RPC codes by which servers say that they do not have what was named. */
const resourceIsNotFound = -32002;
const invalidParams = -32602;

/** The answer of the first server that has what was asked for. */
async function firstAnswer<Answer>(
  servers: readonly BridgedServer[],
  server_id: string,
  notFound: A2EError,
  read: (server: BridgedServer) => Promise<Answer>,
): Promise<Answer> {
  for (const server of servers) {
    try {
      return await read(server);
    } catch (error) {
      const { detail, message } = error as A2EError;
      const isUnknown =
        detail?.mcp_code === resourceIsNotFound ||
        (detail?.mcp_code === invalidParams && /not found|unknown|no such/i.test(message));
      if (isUnknown) continue;
      if (detail?.mcp_code === invalidParams) throw mcp.error("schema_violation", message, { detail });
      if (server_id !== "" || servers.length === 1) throw error;
    }
  }
  throw notFound;
}

function optionsOf({ signal }: Caller) {
  // Agents ask when they want to know: what the server said before is not what they asked for.
  return { cacheMode: "refresh", ...(signal === undefined ? {} : { signal }) } as const;
}

type Offer = "resources" | "prompts";

/** Ready servers that have something of a kind; those that are not started yet are, for the next time. */
function offering(bridge: SessionBridge, what: Offer): BridgedServer[] {
  for (const server of bridge.servers) if (!server.isReady) void server.ready().catch(() => {});
  return bridge.servers.filter((server) => server.isReady && server.capabilities?.[what] !== undefined);
}

async function readPage<Item>(
  bridge: SessionBridge,
  { server_id, cursor }: PageRequest,
  caller: Caller,
  what: Offer,
  reader: (server: BridgedServer) => ReadPage<Item>,
): Promise<{ items: Item[]; next: string }> {
  if (server_id !== "") {
    const server = bridge.server(server_id);
    const { items, next } = await server.use(caller, (connection) => {
      if (connection.client.getServerCapabilities()?.[what] === undefined) throw capabilityMissing(server_id, what);
      return reader(server)(connection, cursor);
    });
    return { items, next: next ?? "" };
  }
  const [at = "", within = ""] = parseCursor(cursor);
  const servers = offering(bridge, what).toSorted((one, other) => (one.config.id < other.config.id ? -1 : 1));
  const current = servers.find(({ config }) => config.id >= at);
  if (current === undefined) return { items: [], next: "" };
  const { id } = current.config;
  const following = servers[servers.indexOf(current) + 1]?.config.id;
  const onward = following === undefined ? "" : toCursor(following, "");
  try {
    const { items, next } = await current.use(caller, (connection) =>
      reader(current)(connection, id === at ? within : ""),
    );
    return { items, next: next === undefined ? onward : toCursor(id, next) };
  } catch (error) {
    if (caller.signal?.aborted === true) throw error;
    // One server that fails does not hide the others.
    return { items: [], next: onward };
  }
}

function toCursor(serverId: string, cursor: string): string {
  return Buffer.from(JSON.stringify([serverId, cursor])).toString("base64url");
}

function parseCursor(cursor: string): string[] {
  if (cursor === "") return [];
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(parsed) && parsed.length === 2 && parsed.every((part) => typeof part === "string")) return parsed;
  } catch {}
  throw mcp.error("schema_violation", "cursor: expected one that an earlier page gave");
}
