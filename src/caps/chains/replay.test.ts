import { expect, onTestFinished, test, vi } from "vitest";
import type { RawPeer } from "../../host/session/raw-session.suite.ts";
import { askTool, identical, record, replay } from "../../recording/replayed-session.suite.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { defineTool } from "../tools/definition/define-tool.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { chainsPlugin } from "./plugin.ts";

const input = { type: "object" };
let failures = 0;
const flaky = defineTool({
  name: "flaky",
  description: "Fails twice.",
  input,
  run() {
    failures += 1;
    if (failures < 3) throw new Error(`failure ${failures}`);
    return { failures };
  },
});
const stuck = defineTool({ name: "stuck", description: "Never ends.", input, run: () => new Promise(() => {}) });
const database = () => createSqliteDatabase({ path: ":memory:" });
const plugins = () => [toolsPlugin({ builtin: false, tools: [flaky, stuck] }), chainsPlugin()];

test("a replay does not wait for delays of retries, the timeout of a map, or the timeout of the chain", async () => {
  const stuckMap = { node_id: "map", kind: "map", items: [1, 2], name: "stuck", timeout: 0.2 };
  const talk = async (peer: RawPeer) => {
    const run = async (id: string, nodes: object[], more: object = {}) => {
      peer.send({ type: "chain/req", id, version: "1.0", nodes, ...more });
      return peer.answer(id);
    };
    const patient = { node_id: "a", kind: "tool", name: "flaky", retries: 2, retry_delay: 0.1 };
    expect(await run("1", [patient])).toMatchObject({ final_output: { failures: 3 } });
    expect(await run("2", [stuckMap])).toMatchObject({ failed: ["map"] });
    const endless = [{ node_id: "a", kind: "tool", name: "stuck" }];
    expect(await run("3", endless, { timeout: 0.2 })).toMatchObject({ error: { code: "timeout" } });
    await askTool(peer, "4", "flaky");
  };
  const recorded = await record(plugins(), talk, { database: await database() });
  // No timer of the replay fires.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  expect(await replay(recorded, plugins(), { host: { database: await database() } })).toEqual(identical);
});
