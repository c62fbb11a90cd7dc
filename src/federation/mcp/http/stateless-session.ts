// Revision 2026-07-28 has no sessions: each request stands alone. Requests of one client still share a session of the
// host, so that an environment that was reset in one request can be stepped in the next.
import { createMcpHandler } from "@modelcontextprotocol/server";
import { type AgentSetting, openAgent } from "../agent.ts";
import { forwardChanges } from "../changes.ts";
import { createMcpServer } from "../mcp-server.ts";
import { createEnding, type HttpSession } from "./http-session.ts";
import { agentOf, keyOfCaller, type McpCaller } from "./mcp-caller.ts";
import { createNodeHandler } from "./node-handler.ts";

interface StatelessOptions {
  caller: McpCaller;
  agentId: string;
}

/** Rejects with an A2EError if the host accepts no more sessions. */
export async function openStatelessSession(
  setting: AgentSetting,
  { caller, agentId }: StatelessOptions,
): Promise<HttpSession> {
  /** Undefined if the session could not be opened. */
  let session: HttpSession | undefined;
  const agent = await openAgent(setting, {
    agentId,
    ...agentOf(caller),
    onClosed: () => setImmediate(() => void session?.close()),
  });
  const createServer = () => createMcpServer({ era: "modern", setting, openAgent: async () => agent });
  const handler = createMcpHandler(createServer, {
    legacy: "reject",
    onerror: (error) => setting.host.log.info("an MCP request was rejected", { error: error.message }),
  });
  forwardChanges(agent.client, handler.notify);
  const serve = createNodeHandler(handler.fetch, setting.host.limits.maxOutboundBytes);
  const ending = createEnding(
    (drainMs) => agent.close(drainMs),
    () => handler.close(),
  );
  session = {
    callerKey: keyOfCaller(caller),
    useToken: (token) => agent.useToken(token),
    async handle(request, response, given) {
      const { body, end } = await agent.watches.begin(given);
      response.once("close", end);
      if (response.destroyed) end();
      await serve(request, response, body);
    },
    ...ending,
  };
  return session;
}
