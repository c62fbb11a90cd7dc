import { expect, test } from "vitest";
import { mcpPlugin } from "../../../caps/mcp/plugin.ts";
import { mcp } from "../../../caps/mcp/protocol.ts";
import { ownServer } from "../../../caps/mcp/start-bridge.suite.ts";
import { type Plugin, plugin } from "../../../plugin/plugin.ts";
import { mcpLimits } from "../limits.ts";
import { connectSecond } from "../mcp-clients.suite.ts";
import { useMcpHosts } from "../started-mcp-host.suite.ts";

const startHost = useMcpHosts();

/** Two servers with the same content, and a third that may never answer. */
function twins({ isHanging = false } = {}): Plugin<typeof mcp> {
  const refuse = () => {
    throw mcp.error("mcp_server_unavailable", "not in this test");
  };
  const both = ["left", "right"];
  const never = () => new Promise<never>(() => {});
  return plugin(mcp, {
    session: () => ({
      handlers: {
        registerServer: refuse,
        unregisterServer: refuse,
        authorizeServer: refuse,
        subscribeResource: refuse,
        unsubscribeResource: refuse,
        listServers: refuse,
        listResources: ({ cursor }) => {
          if (isHanging && cursor !== "") return never();
          const resources = both.map((server_id) => ({ uri: "test://shared", name: server_id, server_id }));
          return { resources, next_cursor: isHanging ? "more" : "" };
        },
        listResourceTemplates: () => ({
          templates: both.map((server_id) => ({ uri_template: "test://{id}", name: server_id, server_id })),
        }),
        readResource: ({ uri }) => ({ contents: [{ uri, text: "text", type: "text" }], server_id: "left" }),
        listPrompts: () => ({
          prompts: [
            ...both.map((server_id) => ({ name: "greet", server_id })),
            ...["alone", "no__server", "bare__server"].map((name) => ({ name, server_id: "right" })),
          ],
        }),
        getPrompt({ name, server_id }) {
          if (server_id === "no") throw mcp.error("mcp_server_not_found", "there is no such server");
          if (server_id === "bare") throw mcp.error("mcp_capability_missing", "it has no prompts");
          const owner = server_id === "" ? "right" : server_id;
          const messages = [{ role: "user", content: { type: "text", text: `${name} of ${owner}` } }];
          return { messages, server_id: owner };
        },
      },
    }),
  });
}

test("prompts with the same name on several servers get distinct names, and each can be read", async () => {
  const { url } = await startHost({ plugins: [twins()] });
  const client = await connectSecond(url);

  const { prompts } = await client.listPrompts();
  const texts = await Promise.all(
    prompts.map(async ({ name }) => (await client.getPrompt({ name })).messages[0]?.content),
  );

  expect(prompts.map(({ name }) => name)).toEqual([
    "left__greet",
    "right__greet",
    "alone",
    "no__server",
    "bare__server",
  ]);
  expect(texts).toMatchObject([
    { text: "greet of left" },
    { text: "greet of right" },
    { text: "alone of right" },
    { text: "no__server of right" },
    { text: "bare__server of right" },
  ]);
});

test("an address that several servers have is listed once", async () => {
  const { url } = await startHost({ plugins: [twins()] });
  const client = await connectSecond(url);

  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();

  expect(resources.map(({ uri }) => uri)).toEqual(["test://shared"]);
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["workspace:///{+path}", "test://{id}"]);
});

test("a server that hangs does not hide the prompts and resources of others", async () => {
  const { url } = await startHost({ plugins: [twins({ isHanging: true })] });
  const client = await connectSecond(url);

  const { resources } = await client.listResources(undefined, { timeout: 4 * mcpLimits.bridgedListMs });

  expect(resources.map(({ uri }) => uri)).toEqual(["test://shared"]);
});

test("of two servers behind the host, the one that hangs does not delay the other", async () => {
  const library = (name: string) => ({ cmd: ownServer("hostile", name, "--library") });
  const servers = { hanging: library("hanging"), sound: library("sound") };
  const { url } = await startHost({ plugins: [mcpPlugin({ servers, ping_interval_ms: 0 })] });
  const client = await connectSecond(url);
  const isThere = async () => (await client.listTools()).tools.map(({ name }) => name);
  await expect.poll(isThere).toEqual(expect.arrayContaining(["hanging__mute", "sound__echo"]));
  await client.callTool({ name: "hanging__mute", arguments: {} });

  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: "sound://own" });
  const { messages } = await client.getPrompt({ name: "sound" });
  await client.subscribeResource({ uri: "sound://own" });

  expect(resources.map(({ uri }) => uri)).toEqual(["sound://own", "all://shared"]);
  expect(contents).toMatchObject([{ text: "text of sound" }]);
  expect(messages).toMatchObject([{ content: { text: "sound" } }]);
});
