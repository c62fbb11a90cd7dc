// Tools of an MCP server behind the host.
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { needsMcp, resultOf, textOf, withServer } from "./opened-mcp-server.ts";

export const mcpTools: readonly Requirement[] = [
  {
    id: "MCP-2",
    title: "its tools are in tool/list as server_id__tool, and a call is routed to it",
    source: "wire facts 3.10 (X7, X8)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const { tools } = checkType(await peer.request("tool/list/req"), "tool/list/resp");
        const names = asArray(tools, "tools").map((tool) => asObject(tool, "tools[]").name);
        check(names.includes("reference__echo"), `tools: expected reference__echo among ${names.join(", ")}`);
        checkEqual(textOf(await peer.call("reference__echo", { text: "hello" })), "hello", "text");
      }),
  },
  {
    id: "MCP-3",
    title: "a tool that fails is a result with success false and its words",
    source: "guide: mcp-bridge (results)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const { success, error } = resultOf(await peer.call("reference__fail"));
        checkEqual([success, error], [false, "it did not work"], "success and error");
      }),
  },
  {
    id: "MCP-4",
    title: "text, image, audio, resource and structured content of a tool all arrive",
    source: "guide: mcp-bridge (results)",
    level: "should",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const data = asObject(resultOf(await peer.call("reference__everything")).data, "data.data");
        const types = asArray(data.content, "content").map((block) => asObject(block, "content[]").type);
        checkEqual(types, ["text", "image", "audio", "resource"], "types of content");
        checkEqual(data.structured, { answer: 42 }, "structured");
      }),
  },
  {
    id: "MCP-5",
    title: "progress of a tool is streamed as events before its answer",
    source: "guide: mcp-bridge (progress)",
    level: "should",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const id = peer.post("tool/call/req", { tool_name: "reference__progress", arguments: {}, streaming: true });
        await peer.answerTo(id);
        const steps = peer.eventsOf(id).map(({ kind, data }) => [kind, asObject(data, "data").progress]);
        checkEqual(
          steps,
          [1, 2, 3].map((step) => ["progress", step]),
          "events",
        );
      }),
  },
  {
    id: "MCP-6",
    title: "a tool that never answers ends with its timeout, and the server continues",
    source: "guide: mcp-bridge (timeouts)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        checkError(await peer.call("reference__hang", {}, { timeout: 0.2 }), "timeout");
        checkEqual(textOf(await peer.call("reference__echo", { text: "on" })), "on", "text");
      }),
  },
  {
    id: "MCP-20",
    title: "a tool that runs only as a task is called like any other, and its status is streamed",
    source: "guide: mcp-bridge (tasks); MCP 2025-11-25, tasks",
    level: "should",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const id = peer.post("tool/call/req", { tool_name: "reference__research", arguments: {}, streaming: true });
        checkEqual(textOf(await peer.answerTo(id)), "what was found", "text");
        const [first] = peer.eventsOf(id).map(({ kind, data }) => [kind, asObject(data, "data").status]);
        checkEqual(first, ["status", "working"], "first event");
      }),
  },
];
