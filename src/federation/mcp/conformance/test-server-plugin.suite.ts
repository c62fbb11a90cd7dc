// Replaces the bridge: the resources and prompts that the conformance suite requires, as those of one server.
import { mcp, serverPush } from "../../../caps/mcp/protocol.ts";
import { type Plugin, plugin } from "../../../plugin/plugin.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { createAskingTools, png } from "./test-tools.suite.ts";

const server_id = "test";

const resources: Record<string, { mime_type: string; text?: string; blob?: string; type: string }> = {
  "test://static-text": {
    mime_type: "text/plain",
    text: "This is the content of the static text resource.",
    type: "text",
  },
  "test://static-binary": { mime_type: "image/png", blob: png, type: "blob" },
  "test://watched-resource": { mime_type: "text/plain", text: "watched", type: "text" },
};

const user = (content: JsonObject) => ({ role: "user", content });
const text = (value: string) => user({ type: "text", text: value });

const prompts: Record<string, { args: string[]; render(args: JsonObject): { role: string; content: JsonObject }[] }> = {
  test_simple_prompt: { args: [], render: () => [text("This is a simple prompt for testing.")] },
  test_prompt_with_arguments: {
    args: ["arg1", "arg2"],
    render: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    args: ["resourceUri"],
    render: ({ resourceUri = "" }) => [
      user({
        type: "resource",
        resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
      }),
      text("Please process the embedded resource above."),
    ],
  },
  test_prompt_with_image: {
    args: [],
    render: () => [user({ type: "image", data: png, mimeType: "image/png" }), text("Please analyze the image above.")],
  },
};

export function testServerPlugin(): Plugin<typeof mcp> {
  const refuse = () => {
    throw mcp.error("mcp_server_unavailable", "not in this test");
  };
  return plugin(mcp, {
    session(context) {
      const remove = context.tools.add(createAskingTools(context));
      return {
        handlers: {
          registerServer: refuse,
          unregisterServer: refuse,
          authorizeServer: refuse,
          listServers: () => ({ servers: [] }),
          listResources: () => ({
            resources: Object.entries(resources).map(([uri, { mime_type }]) => ({
              uri,
              name: uri,
              description: `Resource ${uri}`,
              mime_type,
              server_id,
            })),
          }),
          listResourceTemplates: () => ({
            templates: [{ uri_template: "test://template/{id}/data", name: "template", server_id }],
          }),
          readResource({ uri }) {
            const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
            const templated = { mime_type: "application/json", text: JSON.stringify({ id, templateTest: true }) };
            const found = id === undefined ? resources[uri] : templated;
            if (found === undefined) throw mcp.error("mcp_resource_not_found", `no resource ${uri}`);
            return { contents: [{ uri, ...found }], server_id };
          },
          subscribeResource({ uri }) {
            // Reports one change, after the subscriber has had the time to listen.
            const method = "notifications/resources/updated";
            setTimeout(() => context.push(serverPush, { server_id, method, params: { uri } }), 50).unref();
            return { ok: true };
          },
          unsubscribeResource: () => ({ ok: true }),
          listPrompts: () => ({
            prompts: Object.entries(prompts).map(([name, { args }]) => ({
              name,
              description: `Prompt ${name}`,
              server_id,
              arguments: args.map((argument) => ({ name: argument, required: true })),
            })),
          }),
          getPrompt({ name, arguments: args }) {
            const found = prompts[name];
            if (found === undefined) throw mcp.error("mcp_prompt_not_found", `no prompt ${name}`);
            return { messages: found.render(args), server_id };
          },
        },
        close: remove,
      };
    },
  });
}
