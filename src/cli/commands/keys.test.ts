import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { openApiKeyFile } from "../../compose/api-key-file.ts";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import { toHostConfig } from "../../config/parsing.ts";
import { silentLogger } from "../../plugin/logger.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { type CliRun, runInProcess } from "../test-terminal.suite.ts";

const nextPath = useTemporaryFolder();

function newFolder(): string {
  const path = nextPath();
  mkdirSync(path);
  return path;
}

function run(cwd: string, ...args: string[]): Promise<CliRun> {
  return runInProcess(["keys", ...args], { cwd });
}

describe("a2e keys", () => {
  test("create refuses a role that the host does not have, and a scope that is not a pattern", async () => {
    const cwd = newFolder();
    const unknown = await run(cwd, "create", "ci-bot", "--role", "agnet");
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain('there is no role "agnet": the roles of this host are operator, agent, observer');
    expect((await run(cwd, "create", "ci-bot", "--scope", "tools")).stderr).toContain('the scope "tools" is not valid');
    writeFileSync(
      join(cwd, "a2e.yaml"),
      "roles: { reader: { allow: ['*:read'] } }\nauth: { default_roles: { keys: [reader] } }\n",
    );
    await run(cwd, "create", "ci-bot");
    expect(JSON.parse((await run(cwd, "list", "--json")).stdout)).toMatchObject([{ roles: ["reader"] }]);
  });

  test("create prints the key alone on stdout, and list shows it without its secret", async () => {
    const cwd = newFolder();
    const options = ["--role", "agent", "--role", "observer", "--scope", "tool:read_*", "--label", "build\u001b[31m"];
    const created = await run(cwd, "create", "ci-bot", ...options, "--expires", "2099-01-01");
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^a2e_ci-bot_[0-9a-f]{64}\n$/) });
    expect(created.stderr).toContain("It is shown only now");

    const { stdout } = await run(cwd, "list");
    expect(stdout).toMatch(/^ID +STATUS +ROLES +SCOPES +CREATED +EXPIRES +LAST USED +LABEL\n/);
    expect(stdout).toMatch(/\nci-bot +valid +agent,observer +tool:read_\* +.* 2099-01-01T00:00 +- +build \[31m\n$/);
    const listed = await run(cwd, "list", "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { id: "ci-bot", principal: "key:ci-bot", status: "valid", roles: ["agent", "observer"], last_used_at: null },
    ]);
    expect(listed.stdout).not.toContain(created.stdout.slice(11, 40));
  });

  test("rotate prints another key, and revoke ends both", async () => {
    const cwd = newFolder();
    const first = await run(cwd, "create", "ci-bot");
    const second = await run(cwd, "rotate", "ci-bot", "--json");
    expect(JSON.parse(second.stdout)).toMatchObject({ key: expect.any(String), principal: "key:ci-bot" });
    expect(second.stdout).not.toContain(first.stdout.trim());
    expect(await run(cwd, "revoke", "ci-bot")).toMatchObject({ code: 0, stdout: "" });
    expect((await run(cwd, "list")).stdout).toMatch(/\nci-bot +revoked /);
  });

  test("uses the data folder of the config, or the named one", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "a2e.yaml"), "data_dir: data\n");
    await run(cwd, "create", "one");
    expect(existsSync(join(cwd, "data/keys.sqlite"))).toBe(true);
    expect((await run(cwd, "list", "--data-dir", "other")).stderr).toBe("No API keys.\n");
    expect(existsSync(join(cwd, "other"))).toBe(false);
  });

  test.each([
    [["create", "CI Bot"], /"CI Bot" is not an id of a key: use up to 64 lowercase letters/],
    [["create", "ci-bot", "--expires", "soon"], /such as 90s/],
    [["create", "taken"], /already an API key "taken": rotate it/],
    [["revoke", "missing"], /there is no API key "missing"\nThe keys are those in .*\.a2e/],
    [["rotate", "missing"], /there is no API key "missing"/],
    [["create"], /missing required argument 'id'/],
  ])("%j ends with 2 and a reason", async (args, message) => {
    const cwd = newFolder();
    await run(cwd, "create", "taken");
    const { code, stdout, stderr } = await run(cwd, ...args);
    expect(stderr).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  test("works while a host uses the data folder, and the host follows at once", async () => {
    const cwd = newFolder();
    await using _host = await startConfiguredHost(toHostConfig({}, { baseDir: cwd, env: {} }));
    const running = await openApiKeyFile({ dataDir: join(cwd, ".a2e"), log: silentLogger });
    const revoked: string[] = [];
    running.keys.onRevoked(({ principalId }) => revoked.push(principalId));
    const token = (await run(cwd, "create", "ci-bot")).stdout.trim();
    expect(running.keys.authenticate({ token, agentId: "" })).toMatchObject({ id: "key:ci-bot", roles: ["agent"] });
    await run(cwd, "revoke", "ci-bot");
    expect(running.keys.authenticate({ token, agentId: "" })).toMatchObject({ refused: "revoked" });
    await vi.waitFor(() => expect(revoked).toEqual(["key:ci-bot"]));
    await running.close();
  });
});
