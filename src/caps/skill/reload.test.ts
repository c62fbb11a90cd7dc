import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { skill } from "./protocol.ts";
import { manifest, startSkills } from "./start-skills.suite.ts";

/** Waits for an answer of the agent, then imports what lies beside it: after the folder has changed. */
const waiting = `
import json, sys
def say(**message): print(json.dumps(message), flush=True)
sys.stdin.readline()
say(type="llm", id=1, prompt="go on?")
sys.stdin.readline()
sys.path.insert(0, "scripts")
import part
say(type="result", data=[part.value, open("assets/data.txt").read()])
`;

const files = (value: string) => ({
  "scripts/main.py": waiting,
  "scripts/part.py": `value = "${value}"`,
  "assets/data.txt": value,
});

test("a call uses what is there, without a restart and without a watch", async () => {
  await using host = await startSkills();
  await host.add("fresh", "version: 1.0.0", { body: "old" });
  expect(await host.skills.call({ name: "fresh" })).toMatchObject({ data: { data: { instructions: "old" } } });

  await host.add("fresh", "version: 1.0.1", { body: "new" });

  expect(await host.skills.call({ name: "fresh" })).toMatchObject({
    skill_version: "1.0.1",
    data: { data: { instructions: "new" } },
  });
});

test("a call in flight keeps its version to the last file, and the next one uses the new", async () => {
  await using host = await startSkills();
  const fields = "script: scripts/main.py\nllm: true\nversion:";
  await host.add("lasting", `${fields} 1.0.0`, { files: files("old") });
  let isChanged = false;
  host.client.onAsk(skill.asks.llm, async () => {
    if (!isChanged) await host.add("lasting", `${fields} 2.0.0`, { files: files("new") });
    isChanged = true;
    return { content: "yes" };
  });

  const first = await host.skills.call({ name: "lasting" });
  const second = await host.skills.call({ name: "lasting" });

  expect(first).toMatchObject({ skill_version: "1.0.0", data: { data: ["old", "old"] } });
  expect(second).toMatchObject({ skill_version: "2.0.0", data: { data: ["new", "new"] } });
});

test("a skill that is removed finishes its calls", async () => {
  await using host = await startSkills();
  await host.add("going", "script: scripts/main.py\nllm: true", { files: files("still here") });
  host.client.onAsk(skill.asks.llm, async () => {
    await rm(host.at("project", "going"), { recursive: true });
    return { content: "yes" };
  });

  expect((await host.skills.call({ name: "going" })).data?.data).toEqual(["still here", "still here"]);
  await expect(host.skills.call({ name: "going" })).rejects.toMatchObject({ code: "unknown_skill" });
});

test("copies of versions that nobody runs any more are removed, and all of them with the host", async () => {
  const host = await startSkills();
  const copies = async () => {
    const folders = await readdir(join(host.folder, "data"), { recursive: true }).catch(() => []);
    return folders.filter((path) => /skill-copies\/[^/]+$/.test(path));
  };
  try {
    const source = `import sys\nsys.stdin.readline()\nprint('{"type": "result", "data": 1}')`;
    for (const version of ["1.0.0", "1.0.1", "1.0.2"]) {
      await host.add("changing", `version: ${version}\nscript: main.py`, {
        files: { "main.py": `${source} #${version}` },
      });
      await Promise.all([1, 2, 3].map(() => host.skills.call({ name: "changing" })));
    }
    expect((await copies()).length).toBeLessThanOrEqual(2);
    await host.host.close(0);
    expect(await copies()).toEqual([]);
  } finally {
    await host.close().catch(() => {});
  }
});

test("agents that have seen the list are told of skills that come, change and go", async () => {
  await using host = await startSkills({ watch: true });
  const changes: unknown[] = [];
  let wake = () => {};
  host.client.onPush("skill/changed", ({ added, changed, removed }) => {
    changes.push({ added, changed, removed });
    wake();
  });
  const next = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });

  await host.skills.discover();
  let told = next();
  await host.write(host.at("project", "watched", "SKILL.md"), manifest("name: watched"));
  await told;
  told = next();
  await writeFile(host.at("project", "watched", "SKILL.md"), manifest("name: watched\nversion: 2.0.0"));
  await told;
  told = next();
  await rm(host.at("project", "watched"), { recursive: true });
  await told;

  expect(changes).toEqual([
    { added: ["watched"], changed: [], removed: [] },
    { added: [], changed: ["watched"], removed: [] },
    { added: [], changed: [], removed: ["watched"] },
  ]);
});
