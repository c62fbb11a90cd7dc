// /mcp on the HTTP server. The MCP code is loaded with the first request: most hosts never get one.
import type { McpDoor } from "../federation/mcp/http/http-door.ts";
import type { A2EHost } from "../host/host.ts";
import type { FurtherRoute } from "../server/further-route.ts";
import { readVersion } from "./version.ts";

export function createMcpRoute(host: A2EHost): FurtherRoute {
  let loading: Promise<McpDoor | undefined> | undefined;
  let isClosed = false;
  const load = async () => {
    try {
      const { createMcpDoor } = await import("../federation/mcp/http/http-door.ts");
      return createMcpDoor(host, { version: readVersion() });
    } catch (error) {
      host.log.error("the MCP endpoint could not be loaded", { error });
      // The next client may have more luck; nor does a host that ends depend on it.
      loading = undefined;
      return undefined;
    }
  };
  return {
    paths: ["/mcp", "/mcp/sse", "/mcp/messages"],
    methods: ["GET", "POST", "DELETE"],
    resource: "/mcp",
    async handle(request, response, caller) {
      if (!isClosed) loading ??= load();
      // Existing clients can still finish their calls.
      const door = await loading;
      if (door === undefined) return void response.writeHead(503, { "retry-after": "1" }).end();
      await door.handle(request, response, caller);
    },
    async close(drainMs) {
      isClosed = true;
      await (await loading)?.close(drainMs);
    },
  };
}
