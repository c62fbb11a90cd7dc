import { expect, test } from "vitest";
import { rootsOf } from "./library/roots.ts";
import { parseSkillOptions } from "./options.ts";
import { createPlugin } from "./plugin.ts";

test("without a config, skills are read from the project, the user and the package, in this order", () => {
  const roots = rootsOf(parseSkillOptions({ base_dir: "/project" }), "/home/ada");

  expect(roots.map(({ source, path }) => [source, path])).toEqual([
    ["project", "/project/skills"],
    ["project", "/project/.agents/skills"],
    ["user", "/home/ada/.a2e/skills"],
    ["user", "/home/ada/.agents/skills"],
    ["system", expect.stringMatching(/\/skill\/builtin\/$/)],
  ]);
});

test.each([
  [{ interpreter: {} }, 'interpreter: is not an option here; did you mean "interpreters"?'],
  [{ workspace: "all" }, "workspace: expected one of none, read, write"],
  [{ timeout_seconds: 0 }, "timeout_seconds: expected at least 0.1"],
  [{ memory_mb: "much" }, "memory_mb: expected a number"],
])("the options %j are rejected with a hint", (options, message) => {
  expect(() => createPlugin(options)).toThrow(message);
});
