import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../caps/tools/definition/define-tool.ts";
import { plugin } from "../../../plugin/plugin.ts";
import { ask, capability } from "../../../protocol/table/capability.ts";
import { testServerPlugin } from "../conformance/test-server-plugin.suite.ts";
import { connectSecond } from "../mcp-clients.suite.ts";
import { useMcpHosts } from "../started-mcp-host.suite.ts";

const startHost = useMcpHosts();

const elicitation = { elicitation: { form: {} } };

/** A third-party capability with a question of its own. */
const guard = capability("guard", {
  doc: "Asks before it does something.",
  calls: {},
  asks: {
    approve: ask("guard/approve/req", "guard/approve/resp", {
      doc: "May it be done?",
      request: z.object({ message: z.string() }),
      result: z.object({ approved: z.boolean(), comment: z.string().default("") }),
      example: { request: { message: "Really?" }, result: { approved: true } },
    }),
  },
});

function guardPlugin() {
  return plugin(guard, {
    session(context) {
      const ask = async (message: string) => {
        const { approved, comment } = await context.ask(guard.asks.approve, { message });
        return `${message} ${approved} ${comment}`;
      };
      const remove = context.tools.add([
        defineTool({
          name: "guarded",
          description: "Asks once.",
          input: { type: "object", properties: {} },
          run: () => ask("once"),
        }),
        defineTool({
          name: "guarded_twice",
          description: "Asks twice, one after the other.",
          input: { type: "object", properties: {} },
          run: async () => `${await ask("first")}; ${await ask("second")}`,
        }),
      ]);
      return { handlers: {}, close: remove };
    },
  });
}

describe.each(["legacy", "auto"] as const)("with version negotiation %s", (mode) => {
  test("a completion that the host requests is made by the client's model", async () => {
    const { url } = await startHost({ plugins: [testServerPlugin()] });
    const client = await connectSecond(url, mode, { capabilities: { sampling: {} } }, (created) => {
      created.setRequestHandler("sampling/createMessage", ({ params }) => ({
        role: "assistant",
        content: { type: "text", text: `said after ${params.messages.length} message, ${params.maxTokens} tokens` },
        model: "test",
      }));
    });

    const { content } = await client.callTool({ name: "test_sampling", arguments: { prompt: "hi" } });

    expect(content).toMatchObject([{ text: expect.stringContaining("said after 1 message, 100 tokens") }]);
  });

  test("an approval that a capability asks for is a form for the user", async () => {
    const { url } = await startHost({ plugins: [guardPlugin()] });
    const asked: unknown[] = [];
    const client = await connectSecond(url, mode, { capabilities: elicitation }, (created) => {
      created.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params);
        return { action: "accept", content: { approved: true, comment: "go" } };
      });
    });

    const { content } = await client.callTool({ name: "guarded", arguments: {} });

    expect(content).toMatchObject([{ text: "once true go" }]);
    expect(asked).toMatchObject([
      {
        message: expect.stringContaining("once"),
        requestedSchema: { properties: { approved: { type: "boolean" } }, required: ["approved"] },
      },
    ]);
  });

  test("a tool that asks several questions is started once", async () => {
    const { url, audited } = await startHost({ plugins: [guardPlugin()] });
    const answers = [true, false];
    const client = await connectSecond(url, mode, { capabilities: elicitation }, (created) => {
      created.setRequestHandler("elicitation/create", () => ({
        action: "accept",
        content: { approved: answers.shift() ?? false },
      }));
    });

    const { content } = await client.callTool({ name: "guarded_twice", arguments: {} });

    expect(content).toMatchObject([{ text: "first true ; second false " }]);
    expect(audited.filter(({ type }) => type === "tool/call/req")).toHaveLength(1);
  });

  test("calls that ask at the same time each get their answer", async () => {
    const { url } = await startHost({ plugins: [guardPlugin()] });
    const client = await connectSecond(url, mode, { capabilities: elicitation }, (created) => {
      created.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { approved: true } }));
    });

    const results = await Promise.all(
      Array.from({ length: 3 }, () => client.callTool({ name: "guarded_twice", arguments: {} })),
    );

    for (const { content } of results) expect(content).toMatchObject([{ text: "first true ; second true " }]);
  });

  test("a question that the user declines fails the tool", async () => {
    const { url } = await startHost({ plugins: [guardPlugin()] });
    const client = await connectSecond(url, mode, { capabilities: elicitation }, (created) => {
      created.setRequestHandler("elicitation/create", () => ({ action: "decline" }));
    });

    const result = await client.callTool({ name: "guarded", arguments: {} });

    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("declined") }] });
  });

  test("a client without the capability for a question is not asked", async () => {
    const { url } = await startHost({ plugins: [testServerPlugin(), guardPlugin()] });
    const client = await connectSecond(url, mode);

    const form = await client.callTool({ name: "guarded", arguments: {} });
    const completion = await client.callTool({ name: "test_sampling", arguments: { prompt: "hi" } });

    expect(form).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("elicitation/create") }] });
    expect(completion.isError).toBe(true);
  });

  test("resources and prompts of servers behind the host are listed too", async () => {
    const { url } = await startHost({ plugins: [testServerPlugin()] });
    const client = await connectSecond(url, mode);

    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    const { prompts } = await client.listPrompts();
    const text = await client.readResource({ uri: "test://static-text" });
    const blob = await client.readResource({ uri: "test://static-binary" });
    const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });

    expect(resources).toContainEqual(expect.objectContaining({ uri: "test://static-text", mimeType: "text/plain" }));
    expect(resourceTemplates).toContainEqual(expect.objectContaining({ uriTemplate: "test://template/{id}/data" }));
    expect(prompts).toContainEqual(expect.objectContaining({ name: "test_simple_prompt" }));
    expect(text.contents).toMatchObject([{ text: "This is the content of the static text resource." }]);
    expect(blob.contents).toMatchObject([{ mimeType: "image/png", blob: expect.stringMatching(/^iVBOR/) }]);
    expect(prompt.messages).toMatchObject([{ content: { text: "Prompt with arguments: arg1='a', arg2='b'" } }]);
    await expect(client.getPrompt({ name: "none" })).rejects.toThrow("unknown prompt");
    await expect(client.readResource({ uri: "test://none" })).rejects.toThrow("not found");
  });
});

test("changes of a subscribed resource are announced; a file of the workspace cannot be subscribed to", async () => {
  const { url } = await startHost({ plugins: [testServerPlugin()] });
  const updated: string[] = [];
  const client = await connectSecond(url, "legacy", {}, (created) => {
    created.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  });

  await client.subscribeResource({ uri: "test://watched-resource" });

  await expect.poll(() => updated).toEqual(["test://watched-resource"]);
  await client.unsubscribeResource({ uri: "test://watched-resource" });
  await expect(client.subscribeResource({ uri: "workspace:///notes.md" })).rejects.toThrow("cannot be watched");
});

test("in revision 2026-07-28 changes of a resource are announced while the client listens", async () => {
  const { url, audited } = await startHost({ plugins: [testServerPlugin()] });
  const updated: string[] = [];
  const client = await connectSecond(url, "auto", {}, (created) => {
    created.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  });

  const subscription = await client.listen({
    resourceSubscriptions: ["test://watched-resource", "workspace:///notes.md"],
  });

  expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: ["test://watched-resource"] });
  const countOf = (type: string) => audited.filter((entry) => entry.type === type && entry.success).length;
  expect(countOf("mcp/resource/subscribe/req")).toBe(1);
  await expect.poll(() => updated).toEqual(["test://watched-resource"]);
  await subscription.close();
  await expect.poll(() => countOf("mcp/resource/unsubscribe/req")).toBe(1);
});

test("a question while no request is being served reaches the client, in revisions that allow it", async () => {
  let askLater = async (): Promise<unknown> => undefined;
  const later = plugin(guard, {
    session(context) {
      askLater = () => context.ask(guard.asks.approve, { message: "later" });
      return { handlers: {} };
    },
  });
  const { url } = await startHost({ plugins: [later] });
  const client = await connectSecond(url, "legacy", { capabilities: elicitation }, (created) => {
    created.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { approved: true } }));
  });
  await client.listTools();

  expect(await askLater()).toMatchObject({ approved: true });
});

test("a parked call cannot be continued twice, nor by another session", async () => {
  const { url, audited } = await startHost({ plugins: [guardPlugin()] });
  const envelope = (name: string) => ({
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name, version: "1" },
    "io.modelcontextprotocol/clientCapabilities": elicitation,
  });
  const send = async (name: string, params: object) => {
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "guarded",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "guarded", arguments: {}, _meta: envelope(name), ...params },
      }),
    });
    return (await response.json()) as { result?: Record<string, unknown>; error?: { message: string } };
  };
  const { result } = await send("ada", {});
  const answered = {
    requestState: result?.requestState,
    inputResponses: { "question-1": { action: "accept", content: { approved: true } } },
  };

  const stranger = await send("bob", answered);
  const owner = await send("ada", answered);
  const again = await send("ada", answered);

  expect(result?.resultType).toBe("input_required");
  expect(stranger.error?.message).toContain("this call has ended");
  expect(owner.result?.content).toMatchObject([{ text: "once true " }]);
  expect(again.error?.message).toContain("this call has ended");
  expect(audited.filter(({ type }) => type === "tool/call/req")).toHaveLength(1);
});
