// The only file that loads the SDK, on first use: a host without MCP servers saves the 60 ms.

export type Sdk = typeof import("@modelcontextprotocol/client");

export function loadSdk(): Promise<Sdk> {
  return import("@modelcontextprotocol/client");
}
