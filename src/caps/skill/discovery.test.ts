import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { manifest, type SkillHost, startSkills } from "./start-skills.suite.ts";

async function names(host: SkillHost, request: Parameters<SkillHost["skills"]["discover"]>[0] = {}): Promise<string[]> {
  const { skills } = await host.skills.discover(request);
  return skills.map(({ name, version }) => `${name}@${version}`);
}

test("a skill is listed with every field of its front matter and without its instructions", async () => {
  await using host = await startSkills();
  await host.add(
    "all-fields",
    "version: 2.1.0\nlicense: MIT\ncategory: text\ntags: [a]\ntriggers: [do it]\nwhen_to_use: Now.\nallowed-tools: Read\ninputs: { topic: string }\ntimeout_seconds: 1.5",
  );

  const { skills } = await host.skills.discover();

  expect(skills).toEqual([
    {
      name: "all-fields",
      version: "2.1.0",
      description: "What it does.",
      triggers: ["do it"],
      tools: ["Read"],
      toolkits: null,
      status: "Published",
      input_schema: { type: "object", properties: { topic: { type: "string" } } },
      output_schema: {},
      instructions: null,
      file_path: null,
      llm_config: null,
      arguments: ["topic"],
      when_to_use: "Now.",
      argument_hint: "topic",
      source: "project",
      category: "text",
      categories: ["text"],
      tags: ["a"],
      max_turns: null,
      timeout_seconds: 2,
      icon: null,
      metadata: {},
      kind: "instructions",
      versions: ["2.1.0"],
      license: "MIT",
      compatibility: "",
      uses_llm: false,
    },
  ]);
});

test("skill.md in lower case is accepted", async () => {
  await using host = await startSkills();
  await host.write(host.at("project", "small", "skill.md"), manifest("name: small"));

  expect(await names(host)).toEqual(["small@1.0.0"]);
  expect((await host.skills.read({ name: "small" })).content).toContain("name: small");
});

describe("several roots", () => {
  test("the project takes precedence over the user, and the user over the system, even with older versions", async () => {
    await using host = await startSkills();
    await host.add("shared", "version: 3.0.0", { source: "system", body: "system" });
    await host.add("shared", "version: 2.0.0", { source: "user", body: "user" });
    expect(await names(host)).toEqual(["shared@2.0.0"]);
    await host.add("shared", "version: 1.0.0", { source: "project", body: "project" });

    const { skills } = await host.skills.discover();
    expect(skills).toMatchObject([{ version: "1.0.0", source: "project", versions: ["3.0.0", "2.0.0", "1.0.0"] }]);
    expect((await host.skills.call({ name: "shared" })).data?.data).toMatchObject({ instructions: "project" });
  });

  test("if two roots have the same version, the first root is used, with or without skill_version", async () => {
    await using host = await startSkills();
    await host.add("twice", "version: 1.0.0", { source: "system", body: "system" });
    await host.add("twice", "version: 1.0.0", { source: "user", body: "user" });

    const { data } = await host.skills.call({ name: "twice", skill_version: "1.0.0" });

    expect(data?.data).toMatchObject({ instructions: "user" });
  });

  test("a missing root is not an error, and is read once it exists", async () => {
    await using host = await startSkills();
    expect(await names(host)).toEqual([]);
    await host.add("later", "", { source: "user" });
    expect(await names(host)).toEqual(["later@1.0.0"]);
  });
});

describe("versions", () => {
  test("each have a folder; the newest one that is not a prerelease is used", async () => {
    await using host = await startSkills();
    for (const version of ["1.9.0", "1.10.0", "2.0.0-rc.1"])
      await host.add("many", `version: ${version}`, { version, body: version });

    const { skills } = await host.skills.discover();
    expect(skills).toMatchObject([{ version: "1.10.0", versions: ["2.0.0-rc.1", "1.10.0", "1.9.0"] }]);
    expect(await names(host, { include_versions: true })).toEqual(["many@2.0.0-rc.1", "many@1.10.0", "many@1.9.0"]);
  });

  test("are selected by skill_version or name@version, and the answer has the version that ran", async () => {
    await using host = await startSkills();
    for (const version of ["1.0.0", "2.0.0"]) await host.add("many", `version: ${version}`, { version, body: version });

    expect(await host.skills.call({ name: "many" })).toMatchObject({ skill_version: "2.0.0" });
    for (const request of [{ name: "many", skill_version: "1.0.0" }, { name: "many@1.0.0" }])
      expect(await host.skills.call(request)).toMatchObject({
        name: "many",
        skill_version: "1.0.0",
        data: { data: { instructions: "1.0.0" } },
      });
  });

  test("that do not exist are answered with unknown_skill and the existing ones", async () => {
    await using host = await startSkills();
    await host.add("one", "version: 1.0.0");

    await expect(host.skills.call({ name: "one", skill_version: "9.0.0" })).rejects.toMatchObject({
      code: "unknown_skill",
      detail: { versions: ["1.0.0"] },
    });
  });

  test("that are newer but blocked or archived leave the older one in use", async () => {
    await using host = await startSkills();
    await host.add("many", "version: 1.0.0", { version: "1.0.0" });
    await host.add("many", "version: 2.0.0\nstatus: Archived", { version: "2.0.0" });

    expect(await names(host)).toEqual(["many@1.0.0"]);
    expect(await host.skills.call({ name: "many@2.0.0" })).toMatchObject({ skill_version: "2.0.0" });
  });
});

describe("filters", () => {
  async function startThree() {
    const host = await startSkills();
    await host.add("apple", "tags: [fruit, red]\ncategory: food");
    await host.add("brick", "tags: [red]\ncategory: building");
    await host.add("cloud", "tags: [white]\nstatus: archived");
    await host.add("draft", "status: created");
    return host;
  }

  test("hide archived skills unless they are requested", async () => {
    await using host = await startThree();

    expect(await names(host)).toEqual(["apple@1.0.0", "brick@1.0.0", "draft@1.0.0"]);
    expect(await names(host, { include_archived: true })).toContain("cloud@1.0.0");
    expect(await names(host, { filter_status: ["Archived"] })).toEqual(["cloud@1.0.0"]);
    expect(await names(host, { filter_status: ["Created"] })).toEqual(["draft@1.0.0"]);
  });

  test("match any of the tags and any of the categories, and both must match", async () => {
    await using host = await startThree();

    expect(await names(host, { filter_tags: ["fruit", "red"] })).toEqual(["apple@1.0.0", "brick@1.0.0"]);
    expect(await names(host, { filter_categories: ["building"] })).toEqual(["brick@1.0.0"]);
    expect(await names(host, { filter_tags: ["fruit"], filter_categories: ["building"] })).toEqual([]);
    expect(await names(host, { filter_tags: ["white"] })).toEqual([]);
  });

  test("a blocked skill is listed with its status and cannot be called", async () => {
    await using host = await startSkills();
    await host.add("bad", "status: Blocked");

    expect((await host.skills.discover()).skills).toMatchObject([{ name: "bad", status: "Blocked" }]);
    await expect(host.skills.call({ name: "bad" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(host.skills.read({ name: "bad" })).rejects.toMatchObject({ code: "forbidden" });
  });
});

describe("a folder that is not a valid skill", () => {
  test("is left out, and the reason is logged once", async () => {
    await using host = await startSkills();
    await host.add("good", "");
    await host.write(host.at("project", "broken", "SKILL.md"), manifest("name: other"));

    expect(await names(host)).toEqual(["good@1.0.0"]);
    await names(host);
    const warnings = host.log.entries.filter(({ message }) => message.includes("cannot be used"));
    expect(warnings.map(({ message }) => message)).toEqual([
      'the skill in project/broken cannot be used: name: is "other", but its folder is called "broken"',
    ]);
  });

  test.each([
    [
      "a version that its folder does not have",
      async (host: SkillHost) => void (await host.add("x", "version: 2.0.0", { version: "1.0.0" })),
    ],
    [
      "a SKILL.md that is a link",
      async (host: SkillHost) => {
        await host.write(join(host.folder, "elsewhere.md"), manifest("name: x"));
        await mkdir(host.at("project", "x"), { recursive: true });
        await symlink(join(host.folder, "elsewhere.md"), host.at("project", "x", "SKILL.md"));
      },
    ],
    [
      "a SKILL.md that is a folder",
      async (host: SkillHost) => void (await mkdir(host.at("project", "x", "SKILL.md"), { recursive: true })),
    ],
    [
      "a SKILL.md beyond the limit",
      async (host: SkillHost) =>
        host.write(host.at("project", "x", "SKILL.md"), manifest("name: x", "y".repeat(300_000))),
    ],
    [
      "an invalid name",
      async (host: SkillHost) => host.write(host.at("project", "X Y", "SKILL.md"), manifest("name: X Y")),
    ],
  ])("is left out because of %s", async (_, make) => {
    await using host = await startSkills();
    await make(host);

    expect(await names(host)).toEqual([]);
    await expect(host.skills.call({ name: "x" })).rejects.toMatchObject({ code: "unknown_skill" });
  });

  test("is listed once it is corrected", async () => {
    await using host = await startSkills();
    await host.write(host.at("project", "late", "SKILL.md"), "no front matter");
    expect(await names(host)).toEqual([]);
    await writeFile(host.at("project", "late", "SKILL.md"), manifest("name: late"));
    expect(await names(host)).toEqual(["late@1.0.0"]);
    await rm(host.at("project", "late"), { recursive: true });
    expect(await names(host)).toEqual([]);
  });
});

test("a skill folder that is a link, as installers create them, is followed", async () => {
  await using host = await startSkills();
  const folder = await host.add("linked", "");
  await rename(folder, join(host.folder, "linked"));
  await symlink(join(host.folder, "linked"), folder);

  expect(await names(host)).toEqual(["linked@1.0.0"]);
});

test("an unknown name is answered with unknown_skill and the most similar name", async () => {
  await using host = await startSkills();
  await host.add("plan-research", "");

  for (const name of ["plan-reserch", "../plan-research", "plan-research/../../x", "", "a".repeat(200)])
    await expect(host.skills.call({ name })).rejects.toMatchObject({ code: "unknown_skill", retryable: false });
  await expect(host.skills.call({ name: "plan-reserch" })).rejects.toMatchObject({
    message: expect.stringContaining('did you mean "plan-research"?'),
    detail: { similar: ["plan-research"] },
  });
});

test("a root in the workspace, where agents can write, is logged as a warning", async () => {
  await using host = await startSkills({ workspaceDir: tmpdir() });

  const warnings = host.log.entries.filter(({ message }) => message.includes("is in the workspace"));

  expect(warnings).toHaveLength(3);
});
