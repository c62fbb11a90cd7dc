// What a bridge must know of a server before it is of use.
import type { Tool } from "@modelcontextprotocol/client";
import { mcpLimits } from "../limits.ts";
import { inTime, within } from "../sdk/within.ts";
import type { ServerConfig } from "../server-config.ts";
import type { Connection } from "./connection.ts";

export interface ServerContents {
  readonly tools: readonly Tool[];
  readonly resources: number;
  readonly prompts: number;
}

/**
 * How long a server may take over what is not about its tools, before it is of use without. A part of the time that it has in
 * all, or that would be over first.
 */
export function patienceOf(connectTimeoutMs: number): number {
  return Math.min(mcpLimits.resourcesTimeoutMs, connectTimeoutMs / 4);
}

/**
 * Asks for the tools, and how many resources and prompts there are. Only what concerns tools may fail, or hang; the rest has
 * `patienceMs`.
 */
export async function synchronize(
  { client, isStateless }: Connection,
  { logLevel, timeoutMs }: ServerConfig,
  patienceMs: number,
  signal: AbortSignal,
): Promise<ServerContents> {
  const { tools, resources, prompts, logging } = client.getServerCapabilities() ?? {};
  const options = { signal, timeout: timeoutMs };
  const aside = { signal, timeout: Math.min(timeoutMs, patienceMs) };
  const count = async (isOffered: unknown, listPage: (cursor?: string) => Promise<Page>) =>
    isOffered === undefined ? 0 : within(inTime(countPages(listPage), patienceMs, 0), signal);
  const [listed, resourceCount, promptCount] = await Promise.all([
    tools === undefined ? [] : within(client.listTools(undefined, options), signal).then((list) => list.tools),
    count(resources, async (cursor) => {
      const page = await client.listResources({ cursor: cursor ?? "" }, aside);
      return { size: page.resources.length, next: page.nextCursor };
    }),
    count(prompts, async (cursor) => {
      const page = await client.listPrompts({ cursor: cursor ?? "" }, aside);
      return { size: page.prompts.length, next: page.nextCursor };
    }),
    // The stateless revision has no level to set.
    logging !== undefined && logLevel !== undefined && !isStateless
      ? within(client.setLoggingLevel(logLevel, aside), signal).catch(() => {})
      : undefined,
  ]);
  return { tools: listed, resources: resourceCount, prompts: promptCount };
}

interface Page {
  readonly size: number;
  readonly next: string | undefined;
}

async function countPages(listPage: (cursor?: string) => Promise<Page>): Promise<number> {
  let count = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < mcpLimits.maxCountedPages; pages++) {
    const { size, next } = await listPage(cursor);
    count += size;
    if (next === undefined || next === cursor) break;
    cursor = next;
  }
  return count;
}
