// Single resources and prompts: from the named server, or from the first server that has them.
import type { A2EError } from "../../../protocol/errors.ts";
import { mcpLimits } from "../limits.ts";
import { isUriOnList } from "../patterns.ts";
import { capabilityMissing, promptNotFound, resourceNotFound } from "../problems.ts";
import { mcp } from "../protocol.ts";
import { requestOptions } from "../sdk/request-options.ts";
import { isDoneWithin } from "../sdk/within.ts";
import type { BridgedServer, Caller } from "../server/bridged-server.ts";
import type { SessionBridge } from "../session-bridge.ts";
import { toPromptResult, toResourceContent } from "./content.ts";

export async function readResource(bridge: SessionBridge, uri: string, server_id: string, caller: Caller) {
  const candidates = server_id === "" ? bridge.usable : [bridge.server(server_id)];
  return readFrom(candidates, uri, server_id, caller);
}

function readFrom(candidates: readonly BridgedServer[], uri: string, server_id: string, caller: Caller) {
  const allowed = candidates.filter(({ config }) => isUriOnList(config.resourceAllowList, uri));
  return firstAnswer(allowed, server_id, caller, resourceNotFound(uri, server_id), (server, reader) =>
    server.use(reader, async ({ client }) => {
      if (client.getServerCapabilities()?.resources === undefined)
        throw capabilityMissing(server.config.id, "resources");
      const { contents } = await client.readResource({ uri }, requestOptions(reader, server.config));
      return { contents: contents.map(toResourceContent), server_id: server.config.id };
    }),
  );
}

/** The server to subscribe to a resource at; if several could have it, the first that it can be read from. */
export async function findOwner(bridge: SessionBridge, uri: string, caller: Caller): Promise<string> {
  const able = bridge.usable.filter(
    ({ config, capabilities }) =>
      (capabilities === undefined || capabilities.resources?.subscribe === true) &&
      isUriOnList(config.resourceAllowList, uri),
  );
  const [only, another] = able;
  if (only !== undefined && another === undefined) return only.config.id;
  return (await readFrom(able, uri, "", caller)).server_id;
}

export async function getPrompt(
  bridge: SessionBridge,
  { name, arguments: given, server_id }: { name: string; arguments: Record<string, unknown>; server_id: string },
  caller: Caller,
) {
  const candidates = server_id === "" ? bridge.usable : [bridge.server(server_id)];
  // Arguments of prompts are text: numbers and objects of the agent are sent as JSON.
  const texts = Object.entries(given).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return firstAnswer(candidates, server_id, caller, promptNotFound(name, server_id), (server, reader) =>
    server.use(reader, async ({ client }) => {
      if (client.getServerCapabilities()?.prompts === undefined) throw capabilityMissing(server.config.id, "prompts");
      const result = await client.getPrompt(
        { name, arguments: Object.fromEntries(texts) },
        requestOptions(reader, server.config),
      );
      return toPromptResult(result, server.config.id);
    }),
  );
}

/**
 * The answer of the first server that has the item. The servers are asked in order; the next is asked when the last
 * does not have the item or is silent for `maxSilenceMs`. A silent server may still answer.
 */
async function firstAnswer<Answer>(
  servers: readonly BridgedServer[],
  server_id: string,
  caller: Caller,
  notFound: A2EError,
  read: (server: BridgedServer, reader: Caller) => Promise<Answer>,
): Promise<Answer> {
  const over = new AbortController();
  const signals = [over.signal, caller.signal].filter((signal) => signal !== undefined);
  const reader = { ...caller, signal: AbortSignal.any(signals) };
  const problems: A2EError[] = [];
  const asked: Promise<void>[] = [];
  let found: { answer: Answer } | undefined;
  let answered = () => {};
  const isAnswered = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const ask = async (server: BridgedServer) => {
    try {
      found ??= { answer: await read(server, reader) };
      answered();
    } catch (error) {
      problems.push(error as A2EError);
    }
  };
  try {
    for (const server of servers) {
      // A cancelled call must not start further servers.
      if (caller.signal?.aborted === true) break;
      const asking = ask(server);
      asked.push(asking);
      await isDoneWithin(Promise.race([asking, isAnswered]), mcpLimits.maxSilenceMs);
      if (found !== undefined) return found.answer;
    }
    await Promise.race([Promise.all(asked), isAnswered]);
    if (found !== undefined) return found.answer;
  } finally {
    over.abort();
  }
  caller.signal?.throwIfAborted();
  throw toProblem(problems, server_id, servers.length === 1) ?? notFound;
}

/** JSON-RPC codes with which servers report that they do not have the named item. */
const resourceIsNotFound = -32002;
const invalidParams = -32602;

/** The error to report if it is more than "not found". An error of one server among several is not reported. */
function toProblem(problems: readonly A2EError[], server_id: string, isOnly: boolean): A2EError | undefined {
  const others = problems.filter((problem) => !isUnknown(problem, server_id));
  const complaint = others.find(({ detail }) => detail?.mcp_code === invalidParams);
  if (complaint !== undefined) return mcp.error("schema_violation", complaint.message, { detail: complaint.detail });
  return isOnly ? others[0] : undefined;
}

function isUnknown({ code, detail, message }: A2EError, server_id: string): boolean {
  if (code === "mcp_capability_missing") return server_id === "";
  if (detail?.mcp_code === resourceIsNotFound) return true;
  return detail?.mcp_code === invalidParams && /not found|unknown|no such/i.test(message);
}
