// A client with a lasting connection: one server instance and one session for as long as the connection lasts.
import type { Server } from "@modelcontextprotocol/server";
import { type AgentOptions, type AgentSetting, type McpAgent, openAgent } from "./agent.ts";
import { forwardChanges, notifierOf } from "./changes.ts";
import { carrierOf, createMcpServer } from "./mcp-server.ts";

export interface ConnectionOptions {
  era: "legacy" | "modern";
  token: string;
  peer?: AgentOptions["peer"];
  /** The agent that the client acts as; by default named after the client. */
  agentId?: string | undefined;
  /** The session has ended, at either side. If the client sends further requests, it gets a new session. */
  onClosed?(): void;
}

export interface Connection {
  readonly server: Server;
  /** Opens the session of a client with this name, or returns the open session. */
  open(clientName: string): Promise<McpAgent>;
  /**
   * Ends the session; calls in flight may still finish for `drainMs`. The caller that connected the server closes it.
   */
  close(drainMs?: number): Promise<void>;
}

export function createConnection(setting: AgentSetting, options: ConnectionOptions): Connection {
  const { era, token, peer = {}, agentId } = options;
  let opened: Promise<McpAgent> | undefined;
  let isClosed = false;
  const onClosed = () => {
    opened = undefined;
    options.onClosed?.();
  };
  const prepare = (agent: McpAgent) => {
    forwardChanges(agent.client, notifierOf(server));
    if (era === "legacy") {
      // Sends questions that come while no request is being served.
      const capabilities = () => server.getClientCapabilities();
      const timeout = setting.host.limits.maxCallTimeoutMs;
      agent.questions.offer(carrierOf(capabilities, (request, signal) => server.request(request, { signal, timeout })));
    }
    return agent;
  };
  const open = (clientName: string) => {
    if (isClosed) return Promise.reject(new Error("this connection is closed"));
    if (opened !== undefined) return opened;
    opened = openAgent(setting, { agentId: agentId ?? toAgentId(clientName), token, peer, onClosed }).then(prepare);
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  const server = createMcpServer({ era, setting, openAgent: open });
  return {
    server,
    open,
    async close(drainMs = 0) {
      isClosed = true;
      const agent = await opened?.catch(() => undefined);
      await agent?.close(drainMs);
    },
  };
}

/** Memory and plans belong to an agent, so a client is the same agent in every connection. */
export function toAgentId(clientName: string): string {
  return `mcp:${clientName.slice(0, maxNameLength)}`;
}

const maxNameLength = 100;
