// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config's own syntax
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ConfigError } from "../machinery/options/problem.ts";
import { compileRights } from "../rights/rights.ts";
import { callOf } from "../rights/table-calls.suite.ts";
import { parseConfigText } from "./file.ts";
import { parseHostConfig } from "./parsing.ts";

const options = { env: { TEAM: "team-a", SECRET: "hunter2/*" }, baseDir: "/srv" };

async function problemsOf(text: string): Promise<string[]> {
  const error = await parseConfigText(text, { ...options, source: "a2e.yaml" }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ConfigError
    ? error.message
        .split("\n")
        .slice(1)
        .map((line) => line.trim())
    : [];
}

test("roles of a config are read, with variables, and decide calls", async () => {
  const { roles } = await parseConfigText(
    "roles:\n  reader:\n    allow: ['*:read', 'memory:read ns:${TEAM}-*']\n  quiet: { deny: ['tool:*'] }\n",
    options,
  );
  expect(roles).toEqual({
    reader: { allow: ["*:read", "memory:read ns:team-a-*"], deny: [] },
    quiet: { allow: [], deny: ["tool:*"] },
  });
  expect(compileRights(roles, ["reader"]).decide(callOf("tool/list"), "some").allowed).toBe(true);
  expect(compileRights(roles, ["reader", "quiet"]).decide(callOf("tool/list"), "some").allowed).toBe(false);
});

test("a pattern that no call matches is a problem, with its place and the nearest word", async () => {
  const text = `
roles:
  reader:
    allow:
      - tools/*
      - memry:read
      - tool/cal
      - tol:read_*
    deny: ["proc:write", "tools"]
`;
  expect(await problemsOf(text)).toEqual([
    'a2e.yaml:6:9 roles.reader.allow[1]: no capability is called "memry"; did you mean "memory:read"?',
    'a2e.yaml:7:9 roles.reader.allow[2]: no call matches "tool/cal"; did you mean "tool/call"?',
    'a2e.yaml:8:9 roles.reader.allow[3]: no call is about a resource of the kind "tol"; did you mean "tool:read_*"?',
    expect.stringContaining("a2e.yaml:9:12 roles.reader.deny[0]: can be read in two ways"),
    'a2e.yaml:9:26 roles.reader.deny[1]: expected calls such as "tools/*" or "memory:read", a resource such as "tool:read_*", or both, found "tools"',
  ]);
});

test("the name of a role is checked, and built-in roles cannot be changed", async () => {
  expect(await problemsOf("roles:\n  agent: { allow: ['*'] }\n  'a b': {}\n")).toEqual([
    'a2e.yaml:2:3 roles.agent: the role "agent" is built in and cannot be changed; choose another name',
    'a2e.yaml:3:3 roles."a b": expected a name of at most 64 letters, digits and . _ - that begins with a letter',
  ]);
});

test("a misspelt key of a role is a problem", async () => {
  expect(await problemsOf("roles:\n  reader: { alow: ['*'] }\n")).toEqual([
    'a2e.yaml:2:13 roles.reader.alow: unknown key; did you mean "allow"?',
  ]);
});

test("patterns may name the capability of a plugin that is not loaded yet", async () => {
  const plugins = "plugins:\n  - { type: tools }\n  - { type: counter, cls: './counter.js#create' }\n";
  expect(await problemsOf(`${plugins}roles: { counts: { allow: ['counter/*', 'counter:read'] } }\n`)).toEqual([]);
  expect(await problemsOf(`${plugins}roles: { counts: { allow: ['conter/*'] } }\n`)).toHaveLength(1);
});

test("the value of a variable is not repeated in a problem", async () => {
  const [problem = ""] = await problemsOf("roles: { reader: { allow: ['${SECRET}'] } }\n");
  expect(problem).toContain("the variable is not a pattern that any call matches");
  expect(problem).not.toContain("hunter2");
});

test("any roles are accepted or reported, without an exception", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.record({ allow: fc.array(fc.string()) }))),
      (roles) => {
        const parsed = parseHostConfig({ roles }, { env: {}, baseDir: "/srv" });
        if ("config" in parsed)
          for (const name of Object.keys(parsed.config.roles)) compileRights(parsed.config.roles, [name]);
      },
    ),
  );
});
