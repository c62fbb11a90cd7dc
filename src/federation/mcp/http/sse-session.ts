// HTTP with server-sent events, revision 2024-11-05: a stream for messages of the server, and an address for messages
// of the client. Newer clients use Streamable HTTP.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/server";
import type { AgentSetting } from "../agent.ts";
import { createConnection } from "../connection.ts";
import { createEnding, type HttpSession } from "./http-session.ts";
import { agentOf, keyOfCaller, type McpCaller } from "./mcp-caller.ts";
import { replyRpcError } from "./rpc-reply.ts";
import { createSseTransport } from "./sse-transport.ts";

interface SseOptions {
  /** The stream that the client has opened. */
  response: ServerResponse;
  /** The address that the client posts its messages to. */
  endpoint: string;
  caller: McpCaller;
  agentId: string | undefined;
}

export async function openSseSession(setting: AgentSetting, options: SseOptions): Promise<HttpSession> {
  const { caller, agentId, response, endpoint } = options;
  const transport = createSseTransport(response, endpoint, setting.host.limits.maxOutboundBytes);
  const connection = createConnection(setting, {
    era: "legacy",
    ...agentOf(caller),
    agentId,
    onClosed: () => setImmediate(() => void ending.close()),
  });
  const { server } = connection;
  const ending = createEnding(
    (drainMs) => connection.close(drainMs),
    () => server.close(),
  );
  await server.connect(transport);
  server.onclose = () => void ending.close();
  return {
    callerKey: keyOfCaller(caller),
    async handle(_request: IncomingMessage, reply: ServerResponse, body: unknown) {
      let message: JSONRPCMessage;
      try {
        message = parseJSONRPCMessage(body);
      } catch {
        return replyRpcError(reply, 400, "the body is not a JSON-RPC message");
      }
      reply.writeHead(202).end();
      transport.onmessage?.(message);
    },
    ...ending,
  };
}
