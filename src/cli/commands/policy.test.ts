import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { runInProcess } from "../test-terminal.suite.ts";

const nextPath = useTemporaryFolder();

const config = `
roles:
  reader:
    allow: ["tool:read_*", "memory:read ns:team-*", "env:CartPole-v1"]
    deny: ["tool:read_secret"]
`;

function explain(...args: string[]) {
  const cwd = nextPath();
  mkdirSync(cwd);
  writeFileSync(join(cwd, "a2e.yaml"), config);
  return runInProcess(["policy", "explain", ...args], { cwd });
}

describe("policy explain", () => {
  test.each([
    ["tool:read_file", 'allowed: tool/call writes tool:read_file\n  role "reader" allows it with "tool:read_*"\n'],
    [
      "tool:read_secret",
      'refused: tool/call writes tool:read_secret\n  role "reader" denies it with "tool:read_secret"\n',
    ],
    [
      "tool:js_eval",
      'refused: tool/call writes tool:js_eval\n  no pattern of role "reader" allows it\n  allow "tool:read_*" is for other names\n',
    ],
  ])("names the role and the pattern for %s", async (resource, stdout) => {
    expect(await explain("--role", "reader", "--call", "tool/call", "--resource", resource)).toEqual({
      code: 0,
      stdout,
      stderr: "",
    });
  });

  test("takes a call by its type, its alias and its name on a client", async () => {
    for (const call of ["tool/call", "tool/call/req", "tools/call", "mcp/call_tool"])
      expect((await explain("--role", "reader", "--call", call)).stdout).toContain(
        "refused: tool/call writes any tool",
      );
  });

  test("takes several roles and resources, and prints JSON", async () => {
    const { stdout } = await explain(
      ...["--role", "reader", "--role", "observer", "--call", "memory/init", "--json"],
      ...["--resource", "ns:team-a", "--resource", "ns:notes"],
    );
    expect(JSON.parse(stdout)).toEqual({ allowed: true, reasons: ['role "observer" allows it with "*:read"'] });
  });

  test("explains that an episode was checked when it was made", async () => {
    const { stdout } = await explain("--role", "reader", "--call", "env/step");
    expect(stdout).toContain("allowed: env/step writes some env");
    expect(stdout).toContain("the name of the env was checked by the call that made it");
  });

  test.each([
    [["--role", "raeder", "--call", "tool/call"], 'there is no role "raeder"', 'Did you mean "reader"?'],
    [["--role", "x", "--call", "tool/call"], 'there is no role "x"', "Known: reader, operator, agent, observer."],
    [["--role", "agent", "--call", "tool/cal"], 'there is no call "tool/cal"', 'Did you mean "tool/call"?'],
    [["--role", "agent", "--call", "tools/nothing_like_it"], "there is no call", "Known: tool/list, tool/call."],
    [
      ["--role", "agent", "--call", "tool/call", "--resource", "ns:a"],
      'tool/call is about a tool, not about "ns:a"',
      "tool:name",
    ],
    [["--role", "agent", "--call", "tool/call", "--resource", "js_eval"], "is about a tool", "Write it as tool:name."],
    [
      ["--role", "agent", "--call", "session/fork", "--resource", "tool:x"],
      "session/fork is not about a resource",
      "Leave",
    ],
    [["--role", "agent"], "--call", ""],
  ])("%j is wrong usage, with a remedy", async (args, message, hint) => {
    const { code, stderr } = await explain(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain(hint);
  });
});
