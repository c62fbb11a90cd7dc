// Resources and prompts of an MCP server behind the host.
import type { Message } from "../../../protocol/envelope.ts";
import { asArray, asObject, checkEqual, checkError, checkType, only } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { needsMcp, server_id, withServer } from "./opened-mcp-server.ts";

const isPush = (method: string) => (message: Message) =>
  message.type === "mcp/server/push" && message.method === method;

export const mcpContents: readonly Requirement[] = [
  {
    id: "MCP-7",
    title: "resources are listed page by page, with their templates, and read as text and as blob",
    source: "wire facts 3.10 (X5, X6)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const uris: unknown[] = [];
        let cursor = "";
        do {
          const page = checkType(
            await peer.request("mcp/resource/list/req", { server_id, cursor }),
            "mcp/resource/list/resp",
          );
          uris.push(...asArray(page.resources, "resources").map((one) => asObject(one, "resources[]").uri));
          cursor = String(page.next_cursor);
        } while (cursor !== "" && uris.length < 10);
        checkEqual(uris, ["ref://text", "ref://blob"], "uris");
        const { templates } = await peer.request("mcp/resource/template/list/req", { server_id });
        checkEqual(
          asObject(only(asArray(templates, "templates"), "templates"), "templates[]").uri_template,
          "ref://{name}",
          "uri_template",
        );
        for (const [uri, field, expected] of [
          ["ref://text", "text", "some text"],
          ["ref://blob", "blob", "AAEC"],
        ] as const) {
          const read = checkType(
            await peer.request("mcp/resource/read/req", { uri, server_id }),
            "mcp/resource/read/resp",
          );
          const content = asObject(only(asArray(read.contents, "contents"), "contents"), "contents[]");
          checkEqual([content.uri, content.type, content[field]], [uri, field, expected], `contents of ${uri}`);
        }
        checkError(
          await peer.request("mcp/resource/read/req", { uri: "ref://nothing", server_id }),
          "mcp_resource_not_found",
        );
      }),
  },
  {
    id: "MCP-8",
    title: "a change of a subscribed resource is pushed, and of no other",
    source: "wire facts 3.10 (X4, X9)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const uri = "ref://text";
        const answer = checkType(
          await peer.request("mcp/resource/subscribe/req", { uri, server_id }),
          "mcp/resource/subscribe/resp",
        );
        checkEqual([answer.ok, answer.success], [true, true], "ok and success");
        const start = peer.received.length;
        await peer.call("reference__touch", { uri: "ref://blob" });
        await peer.call("reference__touch", { uri });
        const push = await peer.find(isPush("notifications/resources/updated"), "a push of the change");
        checkEqual([push.server_id, push.params], [server_id, { uri }], "push");
        await peer.request("mcp/resource/unsubscribe/req", { uri, server_id });
        await peer.call("reference__touch", { uri });
        const pushes = peer.received.slice(start).filter(isPush("notifications/resources/updated"));
        checkEqual(pushes.length, 1, "pushes");
      }),
  },
  {
    id: "MCP-9",
    title: "prompts are listed and rendered; an unknown prompt is mcp_prompt_not_found",
    source: "wire facts 3.10 (X5, X6)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const list = checkType(await peer.request("mcp/prompt/list/req", { server_id }), "mcp/prompt/list/resp");
        checkEqual(asObject(only(asArray(list.prompts, "prompts"), "prompts"), "prompts[]").name, "greet", "name");
        const rendered = checkType(
          await peer.request("mcp/prompt/get/req", { name: "greet", arguments: { who: "Ada" }, server_id }),
          "mcp/prompt/get/resp",
        );
        const message = asObject(only(asArray(rendered.messages, "messages"), "messages"), "messages[]");
        checkEqual(message, { role: "user", content: { type: "text", text: "Greet Ada." } }, "message");
        checkError(await peer.request("mcp/prompt/get/req", { name: "no", server_id }), "mcp_prompt_not_found");
      }),
  },
];
