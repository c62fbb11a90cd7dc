// Recorded sessions that used the bridge: replayed without any server.
import { mkdirSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import type { Message } from "../../protocol/envelope.ts";
import { identical, record, replay } from "../../recording/replayed-session.suite.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { mcpPlugin } from "./plugin.ts";
import { ownServer } from "./start-bridge.suite.ts";

const newPath = useTemporaryFolder();

test("requests to servers that the session registered are answered from the recording, without the servers", async () => {
  const cmd = ownServer("hostile", "library", "--library");
  const database = () => createSqliteDatabase({ path: ":memory:" });
  const allowed = mcpPlugin({ registration: { commands: [cmd] }, ping_interval_ms: 0 });
  const answers: Message[] = [];

  const recorded = await record(
    [toolsPlugin({ builtin: false }), allowed],
    async (peer) => {
      for (const [at, [type, fields]] of (
        [
          ["mcp/server/register/req", { config: { server_id: "books", cmd } }],
          ["mcp/server/list/req", {}],
          ["mcp/resource/read/req", { uri: "library://own" }],
          ["mcp/resource/subscribe/req", { uri: "library://own" }],
          ["mcp/prompt/get/req", { name: "library" }],
          ["mcp/prompt/get/req", { name: "nothing", server_id: "books" }],
          ["mcp/server/unregister/req", { server_id: "books" }],
        ] as const
      ).entries()) {
        peer.send({ type, id: `ask-${at}`, version: "1.0", ...fields });
        answers.push(await peer.answer(`ask-${at}`));
      }
    },
    { database: await database() },
  );
  // Registration is not allowed here: all answers come from the recording.
  const report = await replay(recorded, [toolsPlugin({ builtin: false }), mcpPlugin()], {
    host: { database: await database() },
  });

  expect(answers.map(({ type, code }) => code ?? type)).toEqual([
    "mcp/server/register/resp",
    "mcp/server/list/resp",
    "mcp/resource/read/resp",
    "mcp/resource/subscribe/resp",
    "mcp/prompt/get/resp",
    "mcp_prompt_not_found",
    "mcp/server/unregister/resp",
  ]);
  expect(report).toEqual(identical);
});

test("a replay connects to no server of its config, and renews no subscription there", async () => {
  const folder = newPath();
  mkdirSync(folder);
  const countStarted = () => readdirSync(folder).length;
  const script = `: > ${folder}/started-$$; exec "$0" "$@"`;
  const cmd = ["sh", "-c", script, ...ownServer("hostile", "library", "--library")];
  const servers = { shared: { cmd }, own: { cmd, scope: "session" as const } };
  const plugins = () => [toolsPlugin({ builtin: false }), mcpPlugin({ servers, ping_interval_ms: 0 })];
  const recorded = await record(plugins(), async (peer) => {
    const ask = async (type: string, id: string, fields = {}) => {
      peer.send({ type, id, version: "1.0", ...fields });
      return peer.answer(id);
    };
    await ask("mcp/resource/subscribe/req", "watch", { uri: "library://own", server_id: "shared" });
    await ask("mcp/prompt/list/req", "list", { server_id: "own" });
    const { snapshot_id } = await ask("session/snapshot/req", "save");
    const restored = await ask("session/restore/req", "restore", { snapshot_id });
    expect(restored).toMatchObject({ type: "session/restore/resp" });
  });
  const started = countStarted();
  expect(started).toBeGreaterThanOrEqual(2);

  expect(await replay(recorded, plugins())).toEqual(identical);
  expect(countStarted()).toBe(started);
});
