// The MCP SDK as a peer: its client over whatever transport the question is about.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createMcpEcho } from "../servers/mcp-echo.ts";
import { assertEcho, text } from "./workload.ts";

export interface McpEchoClient {
  call(): Promise<unknown>;
  close(): Promise<void>;
}

export async function connectMcp(transport: Transport): Promise<McpEchoClient> {
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(transport);
  // The SDK's client checks results against the schemas that it learns from this.
  await client.listTools();
  const call = () => client.callTool({ name: "echo", arguments: { text } });
  const { content } = (await call()) as { content: { text: string }[] };
  assertEcho(content[0]?.text);
  return { call, close: () => client.close() };
}

/** A client and a server of its own in this process. */
export async function connectMcpInMemory(
  server = createMcpEcho(),
): Promise<{ client: Client; close(): Promise<void> }> {
  const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "bench", version: "1.0.0" });
  await Promise.all([server.connect(serverEnd), client.connect(clientEnd)]);
  return {
    client,
    async close() {
      await client.close();
      await server.close();
    },
  };
}
