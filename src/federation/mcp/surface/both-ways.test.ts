// A server of the MCP project behind the bridge, and a client of the MCP project in front of the host.
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { mcpPlugin } from "../../../caps/mcp/plugin.ts";
import { connectSecond } from "../mcp-clients.suite.ts";
import { useMcpHosts } from "../started-mcp-host.suite.ts";

const startHost = useMcpHosts();
const everything = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");

test.each(["legacy", "auto"] as const)(
  "tools, resources and prompts of a server behind the host reach a client unchanged, negotiated %s",
  async (mode) => {
    const { url } = await startHost({
      plugins: [
        mcpPlugin({
          servers: {
            all: {
              command: process.execPath,
              args: [everything, "stdio"],
              scope: "session",
              start: "eager",
              permissions: { sampling: true },
            },
          },
        }),
      ],
    });
    const client = await connectSecond(url, mode, { capabilities: { sampling: {} } }, (created) => {
      created.setRequestHandler("sampling/createMessage", () => ({
        role: "assistant",
        content: { type: "text", text: "forty-two" },
        model: "test",
      }));
    });
    const toolNames = async () => (await client.listTools()).tools.map(({ name }) => name);
    await expect.poll(toolNames).toContain("all__trigger-sampling-request");

    const echoed = await client.callTool({ name: "all__echo", arguments: { message: "tea" } });
    const image = await client.callTool({ name: "all__get-tiny-image", arguments: {} });
    const links = await client.callTool({ name: "all__get-resource-links", arguments: { count: 2 } });
    const structured = await client.callTool({
      name: "all__get-structured-content",
      arguments: { location: "New York" },
    });
    const sampled = await client.callTool({ name: "all__trigger-sampling-request", arguments: { prompt: "?" } });
    const { prompts } = await client.listPrompts();
    const { resources } = await client.listResources();
    const { messages } = await client.getPrompt({ name: "simple-prompt" });

    expect(echoed.content).toMatchObject([{ type: "text", text: expect.stringContaining("tea") }]);
    expect(image.content).toContainEqual(expect.objectContaining({ type: "image", mimeType: "image/png" }));
    expect(links.content).toContainEqual(expect.objectContaining({ type: "resource_link" }));
    expect(structured.structuredContent).toMatchObject({ temperature: expect.any(Number) });
    expect(JSON.stringify(sampled.content)).toContain("forty-two");
    expect(prompts.map(({ name }) => name)).toContain("simple-prompt");
    expect(resources.length).toBeGreaterThan(0);
    expect(messages[0]?.content).toMatchObject({ type: "text" });
  },
);
