import { spawnSync } from "node:child_process";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { processMark } from "../../machinery/processes/process-life.ts";
import { silentLogger } from "../../plugin/logger.ts";
import type { Sandboxes } from "../../plugin/ports/sandbox.ts";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { SkillLibrary } from "./library/library.ts";
import { listResources, readResource } from "./library/resources.ts";
import { SkillChanged } from "./library/skill-changed.ts";
import { skillLimits } from "./limits.ts";
import { skill } from "./protocol.ts";
import { manifest, type SkillHost, startSkills } from "./start-skills.suite.ts";

/** A script that waits for an answer of the agent, and then imports a file beside it, after the folder has changed. */
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

test("a call uses the current files, without a restart and without a watch", async () => {
  await using host = await startSkills();
  await host.add("fresh", "version: 1.0.0", { body: "old" });
  expect(await host.skills.call({ name: "fresh" })).toMatchObject({ data: { data: { instructions: "old" } } });

  await host.add("fresh", "version: 1.0.1", { body: "new" });

  expect(await host.skills.call({ name: "fresh" })).toMatchObject({
    skill_version: "1.0.1",
    data: { data: { instructions: "new" } },
  });
});

test("a running call uses its version to the last file, and the next call uses the new version", async () => {
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

/** Sandboxes that call back before a script runs: its SKILL.md was read by then, its other files were not. */
function sandboxesThat(callBack: () => Promise<void>): Sandboxes {
  const real = createSandboxes();
  return {
    process: (name) => callBack().then(() => real.process(name)),
    script: (name) => callBack().then(() => real.script(name)),
    report: () => real.report(),
    close: () => real.close(),
  };
}

const kinds = {
  python: (value: string) => ({
    fields: `script: ${value}.py`,
    files: { [`${value}.py`]: `import sys\nsys.stdin.readline()\nprint('{"type": "result", "data": "${value}"}')` },
  }),
  javascript: (value: string) => ({
    fields: `script: ${value}.js`,
    files: { [`${value}.js`]: `export default () => "${value}"` },
  }),
};

describe.each(Object.entries(kinds))(
  "a skill in %s that changes between its SKILL.md and its script",
  (_kind, make) => {
    /** Replaces version 1 by version 2 before a script runs, by renaming, as an update does. */
    async function startReplacing() {
      const before = { replace: async () => {} };
      const host = await startSkills({ sandboxes: sandboxesThat(() => before.replace()) });
      const [old, next] = [make("old"), make("new")];
      await host.add("racing", `version: 1.0.0\n${old.fields}`, { files: old.files });
      before.replace = async () => {
        before.replace = async () => {};
        await rm(host.at("project", "racing"), { recursive: true });
        await host.add("racing", `version: 2.0.0\n${next.fields}`, { files: next.files });
      };
      return host;
    }

    test("runs the newer version completely", async () => {
      await using host = await startReplacing();
      expect(await host.skills.call({ name: "racing" })).toMatchObject({
        skill_version: "2.0.0",
        data: { data: "new" },
      });
    });

    test("does not run the newer version if the older one was selected", async () => {
      await using host = await startReplacing();
      await expect(host.skills.call({ name: "racing@1.0.0" })).rejects.toMatchObject({
        code: "unknown_skill",
        detail: { versions: ["2.0.0"] },
      });
    });

    test("without end is answered with an error", async () => {
      let version = 1;
      const add = () => {
        const { fields, files } = make("same");
        return host.add("racing", `version: 1.0.${version++}\n${fields}`, { files });
      };
      await using host = await startSkills({ sandboxes: sandboxesThat(async () => void (await add())) });
      await add();
      await expect(host.skills.call({ name: "racing" })).rejects.toMatchObject({
        code: "skill_error",
        retryable: true,
        message: expect.stringContaining("keeps changing"),
      });
      expect(version).toBe(2 + skillLimits.maxReads);
    });
  },
);

test("files are listed and read from the version that was found, or not at all", async () => {
  await using host = await startSkills();
  await host.add("racing", "version: 1.0.0", { files: { "references/a.md": "old" } });
  const library = new SkillLibrary([{ path: host.at("project"), source: "project" }], silentLogger);
  const found = await library.find("racing");
  const read = () => readResource(found, skill.calls.read.request.parse({ name: "racing", path: "references/a.md" }));
  expect([await listResources(found), (await read()).content]).toEqual([[{ path: "references/a.md", size: 3 }], "old"]);

  await host.add("racing", "version: 2.0.0", { files: { "references/a.md": "new" } });

  await expect(listResources(found)).rejects.toThrow(SkillChanged);
  await expect(read()).rejects.toThrow(SkillChanged);
  // A request without a version gets the current version, and its number.
  expect(await host.skills.read({ name: "racing", path: "references/a.md" })).toMatchObject({
    skill_version: "2.0.0",
    content: "new",
  });
});

test("running calls of a skill that is removed finish", async () => {
  await using host = await startSkills();
  await host.add("going", "script: scripts/main.py\nllm: true", { files: files("still here") });
  host.client.onAsk(skill.asks.llm, async () => {
    await rm(host.at("project", "going"), { recursive: true });
    return { content: "yes" };
  });

  expect((await host.skills.call({ name: "going" })).data?.data).toEqual(["still here", "still here"]);
  await expect(host.skills.call({ name: "going" })).rejects.toMatchObject({ code: "unknown_skill" });
});

test("copies of versions that no call uses are removed, and all copies when the host closes", async () => {
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

test("hosts that share a data folder keep each other's copies, and remove those of a killed host", async () => {
  await using first = await startSkills();
  const dataDir = join(first.folder, "data");
  const source = `import sys\nsys.stdin.readline()\nprint('{"type": "result", "data": 1}')`;
  await first.add("lasting", "script: main.py", { files: { "main.py": source } });
  const call = async () => (await first.skills.call({ name: "lasting" })).data?.data;
  const copies = () => readdir(join(dataDir, "skill-copies"));
  expect(await call()).toBe(1);
  const own = await copies();
  const { pid } = spawnSync("true");
  const left = `${processMark().replace(`-${process.pid}-`, `-${pid}-`)}left`;
  await mkdir(join(dataDir, "skill-copies", left));

  const second = await startSkills({ dataDir });

  expect(await copies()).toEqual(own);
  expect(await call()).toBe(1);
  await second.close();
  expect(await call()).toBe(1);
});

/** The pushed changes, one at a time. */
function watchChanges(host: SkillHost) {
  const told: unknown[] = [];
  let wake = () => {};
  host.client.onPush("skill/changed", ({ added, changed, removed }) => {
    told.push({ added, changed, removed });
    wake();
  });
  /** Runs `work` and resolves when its change was pushed. */
  const after = async (change: () => Promise<unknown>) => {
    const next = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await change();
    await next;
  };
  return { told, after };
}

test("agents that have listed the skills are notified when skills are added, changed or removed", async () => {
  await using host = await startSkills({ watch: true });
  const { told, after } = watchChanges(host);
  const path = host.at("project", "watched", "SKILL.md");
  await host.skills.discover();

  await after(() => host.write(path, manifest("name: watched")));
  await after(() => host.write(path, manifest("name: watched\nversion: 2.0.0")));
  await after(() => rm(host.at("project", "watched"), { recursive: true }));

  expect(told).toEqual([
    { added: ["watched"], changed: [], removed: [] },
    { added: [], changed: ["watched"], removed: [] },
    { added: [], changed: [], removed: ["watched"] },
  ]);
});

test("a folder that was replaced by renaming is watched again", async () => {
  await using host = await startSkills({ watch: true });
  const { told, after } = watchChanges(host);
  await host.add("watched", "version: 1.0.0");
  await host.skills.discover();

  await after(async () => {
    await host.write(join(host.folder, "update", "SKILL.md"), manifest("name: watched\nversion: 2.0.0"));
    await rename(host.at("project", "watched"), join(host.folder, "outdated"));
    await rename(join(host.folder, "update"), host.at("project", "watched"));
  });
  await after(() => host.add("watched", "version: 3.0.0"));

  expect(told).toEqual(Array(2).fill({ added: [], changed: ["watched"], removed: [] }));
});
