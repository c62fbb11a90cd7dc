import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { skillKinds } from "../skills/skill-template.ts";
import { type CliRun, runInProcess } from "../test-terminal.suite.ts";

const nextPath = useTemporaryFolder();

/** A project with a config of its own, so that no command finds a host, or skills, that happen to be on this machine. */
function newProject(): { folder: string; skills(...args: string[]): Promise<CliRun> } {
  const folder = nextPath();
  mkdirSync(folder);
  writeFileSync(join(folder, "own.yaml"), "plugins: [{ type: skill, metadata: { user: [] } }]");
  return {
    folder,
    skills: (action, ...args) => {
      const host = action === "list" || action === "run" ? ["--config", "own.yaml"] : [];
      return runInProcess(["skills", action ?? "", ...host, ...args], { cwd: folder });
    },
  };
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
}

describe("new", () => {
  test.each(skillKinds)("makes a skill of kind %s that passes its own test, and is listed", async (kind) => {
    const { skills } = newProject();

    const made = await skills("new", "my-skill", "--kind", kind);
    const tested = await skills("test");
    const listed = await skills("list", "--json");

    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining("skills/my-skill/SKILL.md") });
    expect(tested).toMatchObject({ code: 0, stderr: expect.stringContaining("2 passed, 0 failed") });
    expect(JSON.parse(listed.stdout)).toContainEqual(
      expect.objectContaining({
        name: "my-skill",
        version: "0.1.0",
        source: "project",
        kind: kind === "instructions" ? kind : "script",
      }),
    );
  });

  test("replaces no file, and rejects an invalid name", async () => {
    const { folder, skills } = newProject();
    write(folder, "skills/there/SKILL.md", "mine");

    expect(await skills("new", "there")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is there already"),
    });
    for (const name of ["Upper", "../up", "a--b", "x".repeat(65)])
      expect(await skills("new", name)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("not a name of a skill"),
      });
    expect(readFileSync(join(folder, "skills/there/SKILL.md"), "utf8")).toBe("mine");
    expect(readdirSync(join(folder, "skills"))).toEqual(["there"]);
  });

  test("writes to the given folder", async () => {
    const { folder, skills } = newProject();
    await skills("new", "elsewhere", "--dir", ".agents/skills");
    expect(existsSync(join(folder, ".agents/skills/elsewhere/SKILL.md"))).toBe(true);
  });
});

describe("list", () => {
  test("shows name, version, first sentence and origin; filters apply", async () => {
    const { folder, skills } = newProject();
    const manifest = (name: string, more: string) =>
      `---\nname: ${name}\ndescription: Does it. And more.\n${more}\n---\n`;
    write(folder, "skills/one/SKILL.md", manifest("one", "tags: [mine]\nversion: 2.0.0"));
    write(folder, "skills/old/SKILL.md", manifest("old", "tags: [mine]\nstatus: archived"));

    const { stdout } = await skills("list", "--tag", "mine");
    const all = await skills("list", "--tag", "mine", "--all");
    const archived = await skills("list", "--status", "archived", "--json");

    expect(stdout.trim()).toBe("one@2.0.0  Does it. (project, instructions)");
    expect(all.stdout).toContain("old@1.0.0  Does it. (project, instructions, Archived)");
    expect((JSON.parse(archived.stdout) as { name: string }[]).map(({ name }) => name)).toEqual(["old"]);
    expect(await skills("list", "--status", "gone")).toMatchObject({ code: 2 });
  });

  test("reports a folder that is not a skill", async () => {
    const { folder, skills } = newProject();
    write(folder, "skills/broken/SKILL.md", "no front matter");
    expect((await skills("list")).stderr).toContain("must begin with front matter");
  });
});

describe("run", () => {
  test("prints instructions as text and results as JSON, with arguments read as the schema wants them", async () => {
    const { skills } = newProject();

    const instructions = await skills("run", "plan-research", "--topic", "tides");
    const counted = await skills("run", "text-statistics", "--text", "one two two", "--top", "1");

    expect(instructions.stdout).toMatch(/^# A plan for: tides\n/);
    expect(JSON.parse(counted.stdout)).toMatchObject({ words: 3, frequent_words: [{ word: "two", count: 2 }] });
  });

  test("shows events, pins a version and reads arguments as a JSON object", async () => {
    const { skills } = newProject();
    const { code, stdout, stderr } = await skills(
      "run",
      "--json",
      "--json-args",
      '{"csv": "a\\n1"}',
      "csv-summary@1.0.0",
    );
    expect(code).toBe(0);
    expect(stderr).toContain("progress 100%");
    expect(JSON.parse(stdout)).toMatchObject({ success: true, data: { rows: 1 } });
  });

  test("answers a script that asks for a completion", async () => {
    const { folder, skills } = newProject();
    write(folder, "skills/ask/SKILL.md", "---\nname: ask\ndescription: Asks.\nscript: main.js\nllm: true\n---\n");
    write(folder, "skills/ask/main.js", 'export default async () => (await llm("what?")).content;');
    expect((await skills("run", "--llm", "that", "ask")).stdout).toBe("that\n");
    expect((await skills("run", "ask", "--llm", "that")).stdout).toBe("that\n");
  });

  test("takes options behind the skill if it has no argument of that name", async () => {
    const { folder, skills } = newProject();
    const { code, stdout } = await skills("run", "plan-research", "--topic", "tides", "--json", "--timeout", "20");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, data: { instructions: expect.stringMatching(/tides/) } });

    write(folder, "skills/own/SKILL.md", "---\nname: own\ndescription: Own.\narguments: [json]\n---\nIt is {json}.\n");
    expect((await skills("run", "own", "--json", "mine")).stdout).toContain("It is mine.");
  });

  test("shows the arguments, and reports what is wrong", async () => {
    const { skills } = newProject();
    expect((await skills("run", "plan-research", "--help")).stdout).toContain(
      "--topic <string>  What is to be found out.",
    );
    expect(await skills("run", "plan-reserch")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("did you mean plan-research?"),
    });
    expect(await skills("run", "plan-research@9.0.0")).toMatchObject({ code: 2 });
    expect(await skills("run", "plan-research")).toMatchObject({ code: 2, stderr: expect.stringContaining("topic") });
    expect(await skills("run", "plan-research", "stray")).toMatchObject({ code: 2 });
    const refused = (...words: string[]) => skills("run", "plan-research", "--topic", "tides", ...words);
    expect((await refused("--tropic", "x")).stderr).toContain(
      'the skill has no argument "tropic"; did you mean --topic?',
    );
    expect((await refused("--url", "http://x")).stderr).toContain("--url comes before the skill's name");
  });
});

describe("test", () => {
  test("fails if a folder is not a skill or a case fails, and reports why", async () => {
    const { folder, skills } = newProject();
    const manifest = "---\nname: one\ndescription: Says it.\ninputs: { topic: string }\n---\nAbout {topic}.\n";
    write(folder, "skills/one/SKILL.md", manifest);
    write(folder, "skills/one/tests/a.json", '{"arguments": {"topic": "x"}, "contains": ["About x."]}');
    write(folder, "skills/one/tests/b.json", '{"arguments": {"topic": "x"}, "contains": ["About y."]}');
    write(folder, "skills/one/tests/c.json", '{"arguments": {"topic": 7}}');
    write(folder, "skills/one/tests/d.json", '{"expext": 1}');
    write(folder, "skills/one/tests/e.json", "not JSON");
    write(folder, "skills/one/tests/f.json", '{"arguments": {"topic": "x"}, "expect": {"resources": [1]}}');
    write(folder, "skills/one/tests/g.json", '{"arguments": {"topic": "x"}, "error": "skill_error"}');
    write(folder, "skills/two/SKILL.md", manifest);

    const { code, stdout, stderr } = await skills("test");

    expect(code).toBe(1);
    expect(stderr).toContain("2 passed, 7 failed");
    for (const text of [
      "✓ one@1.0.0\n",
      "✓ one@1.0.0: a.json\n",
      '✗ one@1.0.0: b.json\n    expected "About y." in "About x."',
      "✗ one@1.0.0: c.json\n    schema_violation: ",
      "✗ one@1.0.0: d.json\n",
      "✗ one@1.0.0: e.json\n",
      "data.resources: expected [1], got []",
      "expected the error skill_error, got a result",
      '✗ skills/two\n    name: is "one", but its folder is called "two"',
    ])
      expect(stdout).toContain(text);
  });

  test("has nothing to do if there are no skills", async () => {
    const { skills } = newProject();
    expect(await skills("test")).toMatchObject({ code: 2, stderr: expect.stringContaining("skills new") });
    expect(await skills("test", "no/such")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("has no SKILL.md"),
    });
  });
});
