// Reads everything from a new connection that the bridge needs before the first call.
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
 * How long counting resources and prompts may take before the server is ready without the counts. It is a fraction of
 * the connect timeout, which would elapse first otherwise.
 */
export function patienceOf(connectTimeoutMs: number): number {
  return Math.min(mcpLimits.resourcesTimeoutMs, connectTimeoutMs / 4);
}

/**
 * Lists the tools, and counts resources and prompts. Only the list of tools may fail or hang; the counts get
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
    // The stateless revision has no logging level to set.
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
