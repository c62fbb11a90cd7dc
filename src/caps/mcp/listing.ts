// Resources and prompts page by page: of one server, or of one after another of all that there are. A server that is not
// started yet comes last and is waited for: it delays the pages about itself and no others.
import * as z from "zod";
import type { A2EError } from "../../protocol/errors.ts";
import { toPrompt, toPromptResult, toResource, toResourceContent, toResourceTemplate } from "./content.ts";
import { isUriOnList } from "./patterns.ts";
import { capabilityMissing, promptNotFound, resourceNotFound } from "./problems.ts";
import { mcp } from "./protocol.ts";
import type { BridgedServer, Caller } from "./server/bridged-server.ts";
import type { Connection } from "./server/connection.ts";
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
  const candidates = server_id === "" ? usable(bridge) : [bridge.server(server_id)];
  const allowed = candidates.filter(({ config }) => isUriOnList(config.resourceAllowList, uri));
  return firstAnswer(allowed, server_id, resourceNotFound(uri, server_id), (server) =>
    server.use(caller, async ({ client }) => {
      if (client.getServerCapabilities()?.resources === undefined)
        throw capabilityMissing(server.config.id, "resources");
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
  const candidates = server_id === "" ? usable(bridge) : [bridge.server(server_id)];
  // Arguments of prompts are text; what an agent sends as a number is meant as one.
  const texts = Object.entries(given).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return firstAnswer(candidates, server_id, promptNotFound(name, server_id), (server) =>
    server.use(caller, async ({ client }) => {
      if (client.getServerCapabilities()?.prompts === undefined) throw capabilityMissing(server.config.id, "prompts");
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
      const { code, detail, message } = error as A2EError;
      const isUnknown =
        (code === "mcp_capability_missing" && server_id === "") ||
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

/** Those that may have something to give, the ones that are ready first. */
function usable({ servers }: SessionBridge): BridgedServer[] {
  return [...servers.filter(({ isReady }) => isReady), ...servers.filter((one) => !one.isReady && one.canBeReady)];
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
  const { ids, within } = cursor === "" ? firstCursor(bridge) : parseCursor(cursor);
  const known = new Map(bridge.servers.map((server) => [server.config.id, server]));
  const [id = "", ...later] = ids.filter((one) => known.has(one));
  const current = known.get(id);
  if (current === undefined) return { items: [], next: "" };
  const onward = later.length === 0 ? "" : toCursor({ ids: later, within: "" });
  try {
    const { items, next } = await current.use(caller, async (connection) => {
      if (connection.client.getServerCapabilities()?.[what] === undefined) return { items: [], next: undefined };
      return reader(current)(connection, id === ids[0] ? within : "");
    });
    // A server with nothing to say is not worth a page of its own.
    if (items.length === 0 && next === undefined && onward !== "")
      return readPage(bridge, { server_id, cursor: onward }, caller, what, reader);
    return { items, next: next === undefined ? onward : toCursor({ ids: [id, ...later], within: next }) };
  } catch (error) {
    if (caller.signal?.aborted === true) throw error;
    // One server that fails does not hide the others.
    return { items: [], next: onward };
  }
}

/** Servers that are still to be listed, the first of them from its own cursor on. */
interface Cursor {
  readonly ids: readonly string[];
  readonly within: string;
}

function firstCursor(bridge: SessionBridge): Cursor {
  return { ids: usable(bridge).map(({ config }) => config.id), within: "" };
}

function toCursor({ ids, within }: Cursor): string {
  return Buffer.from(JSON.stringify([ids, within])).toString("base64url");
}

function parseCursor(cursor: string): Cursor {
  try {
    const [ids, within] = cursorSchema.parse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
    return { ids, within };
  } catch {
    throw mcp.error("schema_violation", "cursor: expected one that an earlier page gave");
  }
}

const cursorSchema = z.tuple([z.array(z.string()), z.string()]);
