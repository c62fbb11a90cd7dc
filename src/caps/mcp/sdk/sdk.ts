// The only file that loads the SDK: 60 ms that a host without MCP servers does not spend.

export type Sdk = typeof import("@modelcontextprotocol/client");

export function loadSdk(): Promise<Sdk> {
  return import("@modelcontextprotocol/client");
}
