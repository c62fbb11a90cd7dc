import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { A2EClient } from "../../client/client.ts";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import { replayConfigured } from "../../compose/replay.ts";
import { toHostConfig } from "../../config/parsing.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { skill } from "./protocol.ts";

const newFolder = useTemporaryFolder();

const script = `import json, os, sys
line = json.loads(sys.stdin.readline())
open(os.path.join(os.environ["A2E_WORKSPACE"], "runs.txt"), "a").write("x")
print(json.dumps({"type": "event", "kind": "progress", "data": {"percent": 50}}))
print(json.dumps({"type": "error", "message": "told to fail"} if line["input"].get("fail") else {"type": "result", "data": 7}))`;

test("a recording is replayed without the recorded skills and runs no script", async () => {
  const folder = newFolder();
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  write("skills/count/SKILL.md", "---\nname: count\ndescription: Counts.\nscript: main.py\n---\n");
  write("skills/count/main.py", script);
  write("skills/tell/SKILL.md", "---\nname: tell\ndescription: Tells.\narguments: [what]\n---\nTell {what}.\n");
  write("skills/ask/SKILL.md", "---\nname: ask\ndescription: Asks.\nscript: main.js\nllm: true\n---\n");
  write(
    "skills/ask/main.js",
    'export default async () => (await llm("who?")).content + " " + (await llm("when?")).content;',
  );
  write("skills/hasty/SKILL.md", "---\nname: hasty\ndescription: Does not wait.\nscript: main.js\nllm: true\n---\n");
  write("skills/hasty/main.js", 'export default () => { llm("why?"); return 1; }');
  write("workspace/runs.txt", "");
  const plugin = { type: "skill", metadata: { builtin: false, user: [], workspace: "write", watch: false } };
  const config = toHostConfig(
    { recording: { enabled: true }, workspace_dir: "./workspace", plugins: [plugin] },
    { baseDir: folder, env: {} },
  );
  const host = await startConfiguredHost(config, {});
  const transport = createDirectTransport(() => host.sessions.create());
  const client = await A2EClient.connect({ transport, agentId: "agent" });
  const skills = client.use(skill);
  expect((await skills.discover()).skills).toHaveLength(4);
  expect((await skills.call({ name: "tell", arguments: { what: "more" } })).data?.success).toBe(true);
  expect((await skills.call({ name: "count" })).data).toMatchObject({ data: 7, events: [{ kind: "progress" }] });
  await expect(skills.call({ name: "count", arguments: { fail: true } })).rejects.toThrow("told to fail");
  client.onAsk(skill.asks.llm, async ({ messages }) => ({ content: `re: ${messages[0]?.content} ${Math.random()}` }));
  expect((await skills.call({ name: "ask" })).data?.data).toMatch(/^re: who\?.* re: when\?/);
  expect((await skills.call({ name: "hasty" })).data?.data).toBe(1);
  await expect(skills.call({ name: "none" })).rejects.toMatchObject({ code: "unknown_skill" });
  expect((await skills.read({ name: "tell" })).content).toContain("Tells.");
  await client.disconnect();
  await host.close(0);
  const [recording = ""] = readdirSync(config.recording.path);
  const text = readFileSync(join(config.recording.path, recording), "utf8");
  rmSync(join(folder, "skills"), { recursive: true });

  expect(await replayConfigured(text, config)).toMatchObject({ is_identical: true });

  expect(readFileSync(join(folder, "workspace", "runs.txt"), "utf8")).toBe("xx");
});
