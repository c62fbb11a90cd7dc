// The revision of 2026-07-28 knows no sessions: each request stands alone. Behind those of one client there is still one
// session of the host, so that an environment that was reset in one request can be stepped in the next.
import { createMcpHandler } from "@modelcontextprotocol/server";
import { type AgentSetting, openAgent } from "../agent.ts";
import { forwardChanges } from "../changes.ts";
import { createMcpServer } from "../mcp-server.ts";
import type { HttpSession } from "./http-session.ts";
import { createNodeHandler } from "./node-handler.ts";

interface StatelessOptions {
  token: string;
  agentId: string;
  onClosed(): void;
}

/** Rejects with an A2EError where the host takes no more sessions. */
export async function openStatelessSession(
  setting: AgentSetting,
  { token, agentId, onClosed }: StatelessOptions,
): Promise<HttpSession> {
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      onClosed();
      await handler.close();
      await agent.close();
    })();
    return closing;
  };
  const agent = await openAgent(setting, { agentId, token, onClosed: () => setImmediate(() => void close()) });
  const handler = createMcpHandler(() => createMcpServer({ era: "modern", setting, openAgent: async () => agent }), {
    legacy: "reject",
    onerror: (error) => setting.host.log.info("an MCP request was refused", { error: error.message }),
  });
  forwardChanges(agent.client, handler.notify);
  const serve = createNodeHandler(handler);
  return { token, handle: serve, close };
}
