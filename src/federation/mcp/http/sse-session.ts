// HTTP with server-sent events, as the revision of 2024-11-05 has it: a stream for what the server says, and an address
// for what the client says. Clients that are not older than that use Streamable HTTP.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/server";
import type { AgentSetting } from "../agent.ts";
import { createConnection } from "../connection.ts";
import { createEnding, type HttpSession } from "./http-session.ts";
import { replyRpcError } from "./rpc-reply.ts";
import { createSseTransport } from "./sse-transport.ts";

interface SseOptions {
  /** The stream that the client has opened. */
  response: ServerResponse;
  /** Where the client sends its messages. */
  endpoint: string;
  token: string;
  agentId: string | undefined;
}

export async function openSseSession(setting: AgentSetting, options: SseOptions): Promise<HttpSession> {
  const { token, agentId, response, endpoint } = options;
  const transport = createSseTransport(response, endpoint, setting.host.limits.maxOutboundBytes);
  const connection = createConnection(setting, {
    era: "legacy",
    token,
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
    token,
    async handle(_request: IncomingMessage, reply: ServerResponse, body: unknown) {
      let message: JSONRPCMessage;
      try {
        message = parseJSONRPCMessage(body);
      } catch {
        return replyRpcError(reply, 400, "this is no message of JSON-RPC");
      }
      reply.writeHead(202).end();
      transport.onmessage?.(message);
    },
    ...ending,
  };
}
