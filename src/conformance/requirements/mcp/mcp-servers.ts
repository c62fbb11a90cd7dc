// MCP servers of an agent: adding and removing them, under every name of the calls, and the errors of servers that
// fail.
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { needsMcp, referenceServer, register, server_id, withServer } from "./opened-mcp-server.ts";

export const mcpServers: readonly Requirement[] = [
  {
    id: "MCP-1",
    title: "a registered server is answered with ok, is listed as ready, and is gone once it is unregistered",
    source: "wire facts 3.10 (X3, X4, X5)",
    level: "must",
    needs: needsMcp,
    async run(context) {
      const peer = await context.agent();
      const answer = checkType(await register(peer), "mcp/server/register/resp");
      const server = asObject(answer.server, "server");
      checkEqual(
        [answer.ok, server.server_id, server.status, server.transport],
        [true, server_id, "ready", "stdio"],
        "server",
      );
      check(Number(server.tools_count) > 0, `tools_count: expected more than 0, got ${server.tools_count}`);
      const ready = await peer.request("mcp/server/list/req", { status_filter: "ready" });
      check(
        asArray(ready.servers, "servers").some((one) => asObject(one, "servers[]").server_id === server_id),
        "the server should be listed as ready",
      );
      const none = await peer.request("mcp/server/list/req", { status_filter: "error" });
      checkEqual(none.servers, [], "servers with an error");
      const gone = checkType(
        await peer.request("mcp/server/unregister/req", { server_id }),
        "mcp/server/unregister/resp",
      );
      checkEqual([gone.ok, gone.success, gone.server_id], [true, true, server_id], "unregister");
      checkError(await peer.request("mcp/server/unregister/req", { server_id }), "mcp_server_not_found");
    },
  },
  {
    id: "MCP-13",
    title: "the types of the documentation are understood and answered in kind",
    source: "wire facts 3.10 (X11)",
    level: "should",
    needs: needsMcp,
    async run({ agent }) {
      const peer = await agent();
      const connected = checkType(await register(peer, { config: referenceServer }, "mcp/connect"), "mcp/connect/resp");
      checkEqual([connected.ok, asObject(connected.info, "info").server_id], [true, server_id], "mcp/connect");
      try {
        for (const [type, fields, answerType] of [
          ["mcp/list_tools", {}, "mcp/list_tools/resp"],
          ["mcp/call_tool", { tool_name: "reference__echo", arguments: { text: "a" } }, "mcp/call_tool/resp"],
          ["mcp/call_tool/req", { tool_name: "reference__echo", arguments: { text: "a" } }, "mcp/call_tool/resp"],
          ["mcp/read_resource", { uri: "ref://text", server_id }, "mcp/read_resource/resp"],
          ["mcp/get_prompt", { name: "greet", arguments: { who: "b" }, server_id }, "mcp/get_prompt/resp"],
        ] as const)
          checkType(await peer.request(type, fields), answerType);
      } finally {
        checkType(await peer.request("mcp/disconnect", { server_id }), "mcp/disconnect/resp");
      }
    },
  },
  {
    id: "MCP-14",
    title: "an unknown server is mcp_server_not_found, for every request",
    source: "wire facts 3.10 (error codes)",
    level: "must",
    needs: needsMcp,
    async run({ agent }) {
      const peer = await agent();
      for (const [type, fields] of [
        ["mcp/server/unregister/req", {}],
        ["mcp/resource/list/req", {}],
        ["mcp/resource/read/req", { uri: "ref://text" }],
        ["mcp/resource/subscribe/req", { uri: "ref://text" }],
        ["mcp/prompt/list/req", {}],
        ["mcp/prompt/get/req", { name: "greet" }],
      ] as const)
        checkError(await peer.request(type, { server_id: "no-such-server", ...fields }), "mcp_server_not_found");
    },
  },
  {
    id: "MCP-15",
    title: "a command that the operator did not allow is not run",
    source: "to name a program is to run it",
    level: "must",
    needs: needsMcp,
    async run({ agent }) {
      const cmd = ["/bin/sh", "-c", "exit 0"];
      const answer = await (await agent()).request("mcp/server/register/req", { config: { server_id: "shell", cmd } });
      checkError(answer, "forbidden");
    },
  },
  {
    id: "MCP-18",
    title: "each failure of a server has a code of its own: missing tools, refusals, crashes, missing capabilities",
    source: "wire facts 3.10 (error codes)",
    level: "must",
    needs: needsMcp,
    async run(context) {
      await withServer(context, async (peer) => {
        checkError(await peer.call("reference__ghost"), "mcp_tool_not_found");
        const refused = checkError(await peer.call("reference__refuse"), "mcp_protocol_error");
        checkEqual(asObject(refused.detail, "detail").mcp_code, -32000, "detail.mcp_code");
        checkError(await peer.call("reference__crash"), "mcp_transport_error");
      });
      const peer = await context.agent();
      const variant = (flag: string) => ({
        config: { ...referenceServer, server_id: flag, cmd: [...referenceServer.cmd, `--${flag}`] },
      });
      checkError(await register(peer, variant("die")), "mcp_server_unavailable");
      checkType(await register(peer, variant("bare")), "mcp/server/register/resp");
      checkError(await peer.request("mcp/prompt/list/req", { server_id: "bare" }), "mcp_capability_missing");
      await peer.request("mcp/server/unregister/req", { server_id: "bare" });
    },
  },
  {
    id: "MCP-19",
    title: "an authorisation that was not requested is refused",
    source: "extension: mcp/server/authorize",
    level: "extension",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        checkError(await peer.request("mcp/server/authorize/req", { server_id, code: "c", state: "s" }), "forbidden");
      }),
  },
];
