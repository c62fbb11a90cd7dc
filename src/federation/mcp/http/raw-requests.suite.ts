// Requests to /mcp with headers that clients do not allow.
import { request as httpRequest } from "node:http";

interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Raw, so that any header can be sent; the stream of a response is read up to its first message. */
export function send(url: string, method: string, headers: Record<string, string> = {}, body?: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}`, { method, headers }, (response) => {
      let text = "";
      const done = () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers as Record<string, string>, body: text });
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (/^data: \{.*\}$/m.test(text)) {
          done();
          request.destroy();
        }
      });
      response.on("end", done);
    });
    request.on("error", reject);
    request.end(body);
  });
}

export const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export function initialize(protocolVersion = "2025-11-25", name = "raw"): string {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name, version: "1" } };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
}

export const listTools = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });

/** The same in revision 2026-07-28, where each request names its sender. */
export function statelessList(name = "raw"): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name, version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
}
