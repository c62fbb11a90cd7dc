// Clients of both generations of the official SDK, over every transport and revision that they support.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as FirstSse } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as FirstStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as FirstHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished } from "vitest";

/** The common interface of both generations, as far as tests use it. */
export interface McpClient {
  listTools(params?: {
    cursor?: string;
  }): Promise<{ tools: { name: string; [field: string]: unknown }[]; nextCursor?: string }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<ToolResult>;
  listResources(params?: { cursor?: string }): Promise<{ resources: { uri: string }[]; nextCursor?: string }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: Record<string, unknown>[] }>;
  listPrompts(): Promise<{ prompts: { name: string; [field: string]: unknown }[] }>;
  getPrompt(params: {
    name: string;
    arguments?: Record<string, string>;
  }): Promise<{ messages: Record<string, unknown>[] }>;
  complete(params: object): Promise<{ completion: { values: string[]; total?: number; hasMore?: boolean } }>;
  close(): Promise<void>;
}

export interface ToolResult {
  content: { type: string; [field: string]: unknown }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

export interface ClientSetting {
  name?: string;
  token?: string;
  capabilities?: object;
}

type Connect = (url: string, setting?: ClientSetting) => Promise<McpClient>;

/** By revision and SDK generation. */
export const httpClients: Readonly<Record<string, Connect>> = {
  "2025-11-25, SDK 1": (url, setting) => connectBy(new FirstHttp(new URL(`${url}/mcp`), withToken(setting)), setting),
  "2024-11-05 over SSE, SDK 1": (url, setting) =>
    connectBy(new FirstSse(new URL(`${url}/mcp/sse`), withToken(setting)), setting),
  "2025-11-25, SDK 2": (url, setting) =>
    connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), withToken(setting)), "legacy", setting),
  "2024-11-05 over SSE, SDK 2": (url, setting) =>
    connect(new SSEClientTransport(new URL(`${url}/mcp/sse`), withToken(setting)), "legacy", setting),
  "2026-07-28, SDK 2": (url, setting) =>
    connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), withToken(setting)), "auto", setting),
};

interface ChildSetting {
  command: string;
  args: string[];
  cwd: string;
}

export const stdioClients: Readonly<Record<string, (child: ChildSetting) => Promise<McpClient>>> = {
  "2025-11-25, SDK 1": (child) => connectBy(new FirstStdio({ ...child, stderr: "ignore" })),
  "2025-11-25, SDK 2": (child) => connect(new StdioClientTransport({ ...child, stderr: "ignore" }), "legacy"),
  "2026-07-28, SDK 2": (child) => connect(new StdioClientTransport({ ...child, stderr: "ignore" }), "auto"),
};

/** A client of the second generation with all capabilities. */
export async function connectSecond(
  url: string,
  mode: "legacy" | "auto" = "legacy",
  setting: ClientSetting = {},
  prepare: (client: Client) => void = () => {},
): Promise<Client> {
  const { name = "second", capabilities = {} } = setting;
  const client = new Client({ name, version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
  prepare(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), withToken(setting)));
  onTestFinished(() => client.close());
  expect(client.getNegotiatedProtocolVersion()).toBe(mode === "auto" ? "2026-07-28" : "2025-11-25");
  return client;
}

function withToken({ token }: ClientSetting = {}): { requestInit?: RequestInit } {
  return token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } };
}

/** A client of the first generation behind the interface of the second. */
export async function connectFirst(url: string) {
  const client = new FirstClient({ name: "first", version: "1.0.0" }, { capabilities: {} });
  await client.connect(new FirstHttp(new URL(`${url}/mcp`)) as Parameters<FirstClient["connect"]>[0]);
  onTestFinished(() => client.close());
  return {
    listTools: () => client.listTools(),
    callTool: (params: { name: string; arguments: Record<string, unknown> }, options: { signal: AbortSignal }) =>
      client.callTool(params, undefined, options),
  };
}

async function connectBy(
  transport: FirstHttp | FirstSse | FirstStdio,
  { name = "first", capabilities = {} }: ClientSetting = {},
): Promise<McpClient> {
  const client = new FirstClient({ name, version: "1.0.0" }, { capabilities });
  await client.connect(transport as Parameters<FirstClient["connect"]>[0]);
  onTestFinished(() => client.close());
  return client as unknown as McpClient;
}

async function connect(
  transport: Parameters<Client["connect"]>[0],
  mode: "legacy" | "auto",
  { name = "second", capabilities = {} }: ClientSetting = {},
): Promise<McpClient> {
  const client = new Client({ name, version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client as unknown as McpClient;
}
