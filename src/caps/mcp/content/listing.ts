// Resources and prompts page by page: of one server, or of all servers one after another. Servers that are not started
// yet come after those that are, and servers that do not answer come last: each delays only its own pages.
import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { mcpLimits } from "../limits.ts";
import { isUriOnList } from "../patterns.ts";
import { capabilityMissing } from "../problems.ts";
import { mcp } from "../protocol.ts";
import { requestOptions } from "../sdk/request-options.ts";
import type { BridgedServer, Caller } from "../server/bridged-server.ts";
import type { ServerConfig } from "../server-config.ts";
import type { SessionBridge } from "../session-bridge.ts";
import { toPrompt, toResource, toResourceTemplate } from "./content.ts";

interface PageRequest {
  readonly server_id: string;
  readonly cursor: string;
}

interface Page<Item> {
  readonly items: Item[];
  readonly next: string | undefined;
}

/** How to request one kind of item from a server. */
interface Kind<Item> {
  readonly offer: "resources" | "prompts";
  read(
    client: Client,
    params: { cursor: string },
    options: ReturnType<typeof requestOptions>,
    config: ServerConfig,
  ): Promise<Page<Item>>;
}

export async function listResources(bridge: SessionBridge, request: PageRequest, caller: Caller) {
  const { items, next } = await readPage(bridge, request, caller, {
    offer: "resources",
    async read(client, params, options, { id, resourceAllowList }) {
      const { resources, nextCursor } = await client.listResources(params, options);
      const allowed = resources.filter(({ uri }) => isUriOnList(resourceAllowList, uri));
      return { items: allowed.map((resource) => toResource(resource, id)), next: nextCursor };
    },
  });
  return { resources: items, next_cursor: next };
}

export async function listResourceTemplates(bridge: SessionBridge, request: PageRequest, caller: Caller) {
  const { items, next } = await readPage(bridge, request, caller, {
    offer: "resources",
    async read(client, params, options, { id }) {
      const { resourceTemplates, nextCursor } = await client.listResourceTemplates(params, options);
      return { items: resourceTemplates.map((template) => toResourceTemplate(template, id)), next: nextCursor };
    },
  });
  return { templates: items, next_cursor: next };
}

export async function listPrompts(bridge: SessionBridge, request: PageRequest, caller: Caller) {
  const { items, next } = await readPage(bridge, request, caller, {
    offer: "prompts",
    async read(client, params, options, { id }) {
      const { prompts, nextCursor } = await client.listPrompts(params, options);
      return { items: prompts.map((prompt) => toPrompt(prompt, id)), next: nextCursor };
    },
  });
  return { prompts: items, next_cursor: next };
}

async function readPage<Item>(
  bridge: SessionBridge,
  { server_id, cursor }: PageRequest,
  caller: Caller,
  kind: Kind<Item>,
): Promise<{ items: Item[]; next: string }> {
  if (server_id === "") return readPageOfAll(bridge, cursor, caller, kind);
  const server = bridge.server(server_id);
  const page = await readPageOf(server, cursor, caller, kind);
  if (page === undefined) throw capabilityMissing(server_id, kind.offer);
  return { items: page.items, next: page.next ?? "" };
}

/** Undefined if the server does not offer this kind. */
function readPageOf<Item>(
  server: BridgedServer,
  cursor: string,
  caller: Caller,
  { offer, read }: Kind<Item>,
): Promise<Page<Item> | undefined> {
  return server.use(caller, async ({ client }) => {
    if (client.getServerCapabilities()?.[offer] === undefined) return undefined;
    return read(client, { cursor }, requestOptions(caller, server.config), server.config);
  });
}

/** A server that is still to be listed. */
interface Turn {
  readonly id: string;
  /** The server's own cursor, from its last page. */
  readonly cursor: string;
  /** The server did not answer within `maxSilenceMs` before; now its answer is awaited. */
  readonly isLate: boolean;
}

async function readPageOfAll<Item>(
  bridge: SessionBridge,
  cursor: string,
  caller: Caller,
  kind: Kind<Item>,
): Promise<{ items: Item[]; next: string }> {
  const known = new Map(bridge.servers.map((server) => [server.config.id, server]));
  const read: ReadTurn<Item> = async ({ id, cursor: within }, giveUp) => {
    const server = known.get(id);
    return server && readUnlessFailed(server, within, caller, kind, giveUp);
  };
  let turns = cursor === "" ? firstTurns(bridge) : parseCursor(cursor);
  for (;;) {
    const [turn, ...others] = turns;
    if (turn === undefined || turn.isLate || others.length === 0) return readFirst(turns, caller, read);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), mcpLimits.maxSilenceMs);
    const page = await read(turn, late.signal).finally(() => clearTimeout(timer));
    if (page !== undefined) return toAnswer(page, turn, others);
    turns = late.signal.aborted ? [...others, { ...turn, isLate: true }] : others;
  }
}

type ReadTurn<Item> = (turn: Turn, giveUp: AbortSignal) => Promise<Page<Item> | undefined>;

/**
 * The first answer of the servers that did not answer before. All are awaited together, so that a silent server does
 * not block another.
 */
async function readFirst<Item>(
  turns: readonly Turn[],
  { signal }: Caller,
  read: ReadTurn<Item>,
): Promise<{ items: Item[]; next: string }> {
  const over = new AbortController();
  const left = new Set(turns);
  const reading = turns.map(async (turn) => {
    const page = await read(turn, over.signal);
    if (page !== undefined) return { turn, page };
    left.delete(turn);
    throw new Error("nothing to list");
  });
  try {
    const { turn, page } = await Promise.any(reading);
    left.delete(turn);
    return toAnswer(page, turn, [...left]);
  } catch {
    signal?.throwIfAborted();
    return { items: [], next: "" };
  } finally {
    over.abort();
  }
}

function toAnswer<Item>({ items, next }: Page<Item>, turn: Turn, others: readonly Turn[]) {
  return { items, next: toCursor(next === undefined ? others : [{ ...turn, cursor: next }, ...others]) };
}

/** Undefined if the server fails, so that it does not hide the others, or if its page would be empty. */
async function readUnlessFailed<Item>(
  server: BridgedServer,
  cursor: string,
  caller: Caller,
  kind: Kind<Item>,
  giveUp: AbortSignal,
): Promise<Page<Item> | undefined> {
  const signals = [giveUp, caller.signal].filter((signal) => signal !== undefined);
  try {
    const page = await readPageOf(server, cursor, { ...caller, signal: AbortSignal.any(signals) }, kind);
    return page?.items.length === 0 && page.next === undefined ? undefined : page;
  } catch (error) {
    if (caller.signal?.aborted === true) throw error;
    return undefined;
  }
}

function firstTurns(bridge: SessionBridge): Turn[] {
  return bridge.usable.map(({ config }) => ({ id: config.id, cursor: "", isLate: false }));
}

function toCursor(turns: readonly Turn[]): string {
  if (turns.length === 0) return "";
  const text = JSON.stringify(turns.map(({ id, cursor, isLate }) => [id, cursor, isLate]));
  return Buffer.from(text).toString("base64url");
}

function parseCursor(cursor: string): Turn[] {
  try {
    const turns = cursorSchema.parse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
    return turns.map(([id, within, isLate]) => ({ id, cursor: within, isLate }));
  } catch {
    throw mcp.error("schema_violation", "cursor: expected the next_cursor of an earlier page");
  }
}

const cursorSchema = z.array(z.tuple([z.string(), z.string(), z.boolean()]));
