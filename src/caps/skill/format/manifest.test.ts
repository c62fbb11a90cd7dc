import { describe, expect, test } from "vitest";
import { parseManifest } from "./manifest.ts";

const minimal = "name: a-skill\ndescription: Does it.";
const parse = (fields: string, body = "Do it.") => parseManifest(`---\n${fields}\n---\n${body}\n`);

test("a name and a description are sufficient", async () => {
  expect(await parse(minimal, "\n# Title\n\nText.\n")).toMatchObject({
    name: "a-skill",
    description: "Does it.",
    version: "1.0.0",
    status: "Published",
    inputSchema: { type: "object", properties: {} },
    script: undefined,
    usesLlm: false,
    instructions: "# Title\n\nText.",
  });
});

test("every field of the open format is read, with hyphens or underscores", async () => {
  const fields = `${minimal}
license: Apache-2.0
compatibility: Needs git.
metadata: { author: somebody }
allowed-tools: Read, Bash(git:*)
when-to-use: Always.
argument_hint: "[topic]"
tags: [one, two]
categories: [first, second]
status: archived
triggers: [a phrase, another]
timeout_seconds: 2.5
max_turns: 3`;
  expect(await parse(fields)).toMatchObject({
    license: "Apache-2.0",
    compatibility: "Needs git.",
    metadata: { author: "somebody" },
    tools: ["Read", "Bash(git:*)"],
    whenToUse: "Always.",
    argumentHint: "[topic]",
    tags: ["one", "two"],
    categories: ["first", "second"],
    status: "Archived",
    triggers: ["a phrase", "another"],
    timeoutSeconds: 2.5,
    maxTurns: 3,
  });
});

test.each([
  ["Bash(git add:*) Read", ["Bash(git add:*)", "Read"]],
  [
    "Bash(git add:*), Bash(npm run test, npm run lint),Read",
    ["Bash(git add:*)", "Bash(npm run test, npm run lint)", "Read"],
  ],
  ["Bash(echo (a b) c) Read", ["Bash(echo (a b) c)", "Read"]],
  ["Bash(git add Read", ["Bash(git", "add", "Read"]],
  ["a) b", ["a)", "b"]],
])("the allowed tools %j are not split within parentheses", async (written, tools) => {
  expect(await parse(`${minimal}\nallowed-tools: ${JSON.stringify(written)}`)).toMatchObject({ tools });
});

test("unknown fields of other clients are ignored", async () => {
  expect(await parse(`${minimal}\nmodel: opus\ndisable-model-invocation: true\nlicense:`)).toMatchObject({
    license: "",
  });
});

test("Windows line ends and a byte order mark are accepted", async () => {
  const text = `\uFEFF---\r\nname: a-skill\r\ndescription: Does it.\r\n---\r\nDo it.\r\n`;
  expect(await parseManifest(text)).toMatchObject({ name: "a-skill", instructions: "Do it." });
});

test.each([
  ["version: 1.10", "1.10"],
  ["version: 2", "2"],
  ["version: '0.3.0-beta.1'", "0.3.0-beta.1"],
  ["metadata:\n  version: 1.20", "1.20"],
  ["metadata: { version: '3.1' }", "3.1"],
  ["metadata:\n  version: 9.9\nversion: 1.10", "1.10"],
])("%j is read as the version %s, as it is written", async (field, version) => {
  expect(await parse(`${minimal}\n${field}`)).toMatchObject({ version });
});

test("an invalid version in metadata is ignored", async () => {
  for (const version of ["latest", "1.2.3.4", "[1]"])
    expect(await parse(`${minimal}\nmetadata: { version: ${version} }`)).toMatchObject({ version: "1.0.0" });
});

test("an argument hint in brackets, which YAML parses as a list, is read as it is written", async () => {
  expect((await parse(`${minimal}\nargument-hint: [issue-number]`)).argumentHint).toBe("[issue-number]");
  expect((await parse(`${minimal}\nargument-hint: [from, to]`)).argumentHint).toBe("[from, to]");
});

test.each([
  "arguments: [{ name: topic, required: true }, { name: style }]",
  "arguments: { topic: { type: string, required: true }, style: string }",
])("%j are read as inputs", async (field) => {
  expect(await parse(`${minimal}\n${field}`)).toMatchObject({
    argumentNames: ["topic", "style"],
    inputSchema: { type: "object", required: ["topic"] },
  });
});

test.each([
  ["scripts/main.js", "javascript"],
  ["scripts/main.py", "python"],
  ["scripts/main.rb\nruntime: ruby", "ruby"],
  ["scripts/main.js\nruntime: node", "node"],
])("the script %j has the runtime %s", async (script, runtime) => {
  expect((await parse(`${minimal}\nscript: ${script}`)).script?.runtime).toBe(runtime);
});

describe("a problem is reported:", () => {
  test.each([
    ["no front matter", "Just text.", "must begin with front matter"],
    ["no end of it", `---\n${minimal}`, "has no end"],
    ["not fields", "---\n- a\n- b\n---\n", "must be a map of fields"],
    ["bad YAML, with its line", "---\nname: a\ndescription: one: two\n---\n", "line 3: two settings on one line"],
  ])("%s", async (_, text, problem) => {
    await expect(parseManifest(text)).rejects.toThrow(problem);
  });

  test.each([
    ["description: x", "name: is missing"],
    ["name: a", "description: is missing"],
    ["name: a\ndescription: ' '", "description: expected some text"],
    [`name: a\ndescription: ${"x".repeat(1025)}`, "description: expected at most 1024"],
    [`name: ${"x".repeat(65)}\ndescription: x`, "name: expected at most 64"],
    ["name: Upper\ndescription: x", "name: expected lowercase letters, digits and single hyphens"],
    ["name: a--b\ndescription: x", "name: expected lowercase letters"],
    ["name: ../up\ndescription: x", "name: expected lowercase letters"],
    [`${minimal}\nstatus: Retired`, "status: expected one of Created, Blocked, Published, Archived"],
    [`${minimal}\nversion: latest`, 'version: expected a version such as 1.2.0, found "latest"'],
    [`${minimal}\ninputs: 7`, "inputs: expected a JSON Schema, a map or a list of arguments"],
    [`${minimal}\nscript: scripts/main`, "script: set `runtime` to the interpreter that runs"],
    [`${minimal}\nllm: sometimes`, "llm: expected true or false"],
  ])("%j: %s", async (fields, problem) => {
    await expect(parse(fields)).rejects.toThrow(problem);
  });

  test("all problems at once", async () => {
    await expect(parse("name: A\nstatus: gone")).rejects.toThrow(/name: .*; description: is missing; status: /);
  });
});

describe("malicious front matter", () => {
  test.each([
    ["nests too deeply", `x: ${"[".repeat(5000)}${"]".repeat(5000)}`, "nested deeper than 64 levels"],
    ["multiplies by aliases", billionLaughs(), "aliases make more than"],
    ["is too long", `x: ${"y".repeat(40_000)}`, "longer than 32768 characters"],
  ])("is rejected if it %s", async (_, fields, problem) => {
    await expect(parse(`${minimal}\n${fields}`)).rejects.toThrow(problem);
  });

  test("cannot change the prototype of objects", async () => {
    const { metadata } = await parse(`${minimal}\nmetadata: { __proto__: { polluted: yes }, fine: 1 }`);
    expect((metadata as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
  });
});

function billionLaughs(): string {
  const levels = Array.from({ length: 9 }, (_, level) => {
    const before = level === 0 ? '"lol"' : `*a${level - 1}`;
    return `a${level}: &a${level} [${Array.from({ length: 9 }, () => before).join(", ")}]`;
  });
  return levels.join("\n");
}
