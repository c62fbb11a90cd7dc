// HTTP with server-sent events, as the revision of 2024-11-05 has it: one stream for everything that the server says, and
// an address for what the client says. Clients that are not older than that use Streamable HTTP.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import type { AgentSetting } from "../agent.ts";
import { createConnection } from "../connection.ts";
import type { HttpSession } from "./http-session.ts";
import { replyRpcError } from "./rpc-reply.ts";

interface SseOptions {
  /** The stream that the client has opened. */
  response: ServerResponse;
  /** Where the client sends its messages. */
  endpoint: string;
  token: string;
  agentId: string | undefined;
  onClosed(): void;
}

export async function openSseSession(setting: AgentSetting, options: SseOptions): Promise<HttpSession> {
  const { token, agentId, onClosed, response, endpoint } = options;
  const transport = createSseTransport(response, endpoint, setting.host.limits.maxOutboundBytes);
  const connection = createConnection(setting, {
    era: "legacy",
    token,
    agentId,
    onClosed: () => setImmediate(() => void close()),
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      onClosed();
      await connection.server.close();
      await connection.close();
    })();
    return closing;
  };
  await connection.server.connect(transport);
  connection.server.onclose = () => void close();
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
    close,
  };
}

function createSseTransport(response: ServerResponse, endpoint: string, maxWaitingBytes: number): Transport {
  const keepAlive = setInterval(() => response.write(": keep-alive\n\n"), keepAliveMs).unref();
  const transport: Transport = {
    async start() {
      response.once("close", () => {
        clearInterval(keepAlive);
        transport.onclose?.();
      });
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
      });
      response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
    },
    async send(message) {
      response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      // This revision has no way to send again what a slow reader missed, so it may not fill the memory either.
      if (response.writableLength > maxWaitingBytes) response.destroy();
    },
    async close() {
      response.end();
    },
  };
  return transport;
}

const keepAliveMs = 15_000;
