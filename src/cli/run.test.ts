import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startConfiguredServer } from "../compose/configured-server.ts";
import { toHostConfig } from "../config/parsing.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { commands } from "./command-list.ts";
import { createStyle } from "./style.ts";
import { programName } from "./terminal.ts";
import { runInProcess } from "./test-terminal.suite.ts";

const nextPath = useTemporaryFolder();

function newFolder(): string {
  const path = nextPath();
  mkdirSync(path);
  return path;
}

/** A folder with a config, so that no command finds a host that happens to run on this machine. */
function newProject(config = ""): string {
  const folder = newFolder();
  writeFileSync(join(folder, "own.yaml"), config);
  return folder;
}

const embedded = ["--config", "own.yaml"];

describe("help", () => {
  test("lists every command and the exit codes", async () => {
    for (const args of [[], ["--help"], ["help"]]) {
      const { code, stdout } = await runInProcess(args, { cwd: newFolder() });
      expect(code).toBe(0);
      for (const name of Object.keys(commands)) expect(stdout).toContain(`  ${name} `);
      expect(stdout).toContain("Exit codes:");
    }
  });

  test.each(Object.keys(commands))("of %s has examples and the exit codes", async (name) => {
    for (const args of [
      [name, "--help"],
      ["help", name],
    ]) {
      const { code, stdout } = await runInProcess(args, { cwd: newFolder() });
      expect(code).toBe(0);
      expect(stdout).toContain("Examples:\n  a2e");
      expect(stdout).toContain("Exit codes:");
    }
  });

  test("--version prints that of the package", async () => {
    const { stdout } = await runInProcess(["--version"], { cwd: newFolder() });
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(stdout.trim()).toBe(version);
  });
});

describe("a wrong usage ends with 2 and a hint, and no stack trace", () => {
  test.each([
    [["servo"], /Did you mean serve/],
    [["serve", "--prot", "1"], /Did you mean --port/],
    [["serve", "--port", "99999"], /0 to 65535/],
    [["serve", "--port", "-1"], /0 to 65535/],
    [["serve", "extra"], /too many arguments/],
    [["call"], /missing required argument 'tool'/],
    [["call", "--url", "127.0.0.1:9", "echo"], /did you mean http:\/\/127\.0\.0\.1:9\?/],
    [["call", "--url", "http://127.0.0.1:9", ...embedded, "echo"], /exclude each other/],
    [["call", "--timeout", "soon", "echo"], /number of seconds/],
    [["call", "echo", "stray"], /"stray" belongs to no argument/],
    [["tools", "--config", "missing.yaml"], /no such file\n`.*init` writes one/],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await runInProcess(args, { cwd: newFolder() });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });

  test("a typo in a config is reported with its position and the nearest key", async () => {
    const { code, stderr } = await runInProcess(["tools", ...embedded], { cwd: newProject("hosst_id: x\n") });
    expect(code).toBe(2);
    expect(stderr).toContain('own.yaml:1:1 hosst_id: unknown key; did you mean "host_id"?');
  });

  test("a typo in the options of a plugin too", async () => {
    const cwd = newProject("plugins: [{ type: tools, metadata: { bultin: false } }]\n");
    const { code, stderr } = await runInProcess(["tools", ...embedded], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain('plugins[0].metadata.bultin: is not an option here; did you mean "builtin"?');
  });

  test("A2E_DEBUG shows the stack trace", async () => {
    const options = { cwd: newProject("hosst_id: x\n"), env: { A2E_DEBUG: "1" } };
    expect((await runInProcess(["tools", ...embedded], options)).stderr).toMatch(/\n\s+at /);
  });
});

describe("init", () => {
  test("writes a config that is valid and that the other commands find", async () => {
    const cwd = newFolder();
    expect(await runInProcess(["init"], { cwd })).toMatchObject({ code: 0, stdout: "" });
    const path = join(cwd, "a2e.yaml");
    writeFileSync(path, readFileSync(path, "utf8").replace("#host_id: a2e-host", "host_id: found"));
    const { stdout } = await runInProcess(["doctor", "--json"], { cwd, env: process.env });
    const findings = JSON.parse(stdout) as { name: string; status: string; message: string }[];
    expect(findings.find(({ name }) => name === "config")).toEqual({ name: "config", status: "ok", message: path });
  });

  test("replaces a file only with --force", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "a2e.yaml"), "host_id: mine\n");
    const { code, stderr } = await runInProcess(["init"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain("--force");
    expect(readFileSync(join(cwd, "a2e.yaml"), "utf8")).toBe("host_id: mine\n");
    expect((await runInProcess(["init", "--force"], { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, "a2e.yaml"), "utf8")).not.toContain("mine");
  });

  test("--stdout prints the file instead of writing it", async () => {
    const { stdout } = await runInProcess(["init", "--stdout"], { cwd: newFolder() });
    expect(stdout).toContain("#server:");
  });
});

describe("against a host within the command", () => {
  test("tools lists, searches and prints definitions", async () => {
    const cwd = newProject();
    const { stdout, stderr } = await runInProcess(["tools", ...embedded], { cwd });
    expect(stdout).toMatch(/^read_file +Reads a file/m);
    expect(stderr).toContain("using a host within this command");
    const found = await runInProcess(["tools", ...embedded, "--json", "--tag", "code"], { cwd });
    expect((JSON.parse(found.stdout) as { name: string }[]).map(({ name }) => name)).toEqual(["js_eval"]);
  });

  test("call prints the data, and events on stderr", async () => {
    const args = [
      "call",
      ...embedded,
      "js_eval",
      "--code",
      "console.log('thinking'); input.a * 2",
      "--input",
      '{"a": 21}',
    ];
    const { code, stdout, stderr } = await runInProcess(args, { cwd: newProject() });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "42\n" });
    expect(stderr).toContain("log thinking");
  });

  test("call takes its arguments as a JSON object, and accepts its own options behind the tool as well", async () => {
    const args = ["call", ...embedded, "js_eval", "--json-args", '{"code": "[1, 2]"}', "--json"];
    const { stdout } = await runInProcess(args, { cwd: newProject() });
    expect(JSON.parse(stdout)).toMatchObject({ success: true, tool_name: "js_eval", data: [1, 2] });
  });

  test("call reads a value from a file, and the tool writes it into the workspace", async () => {
    const cwd = newProject();
    writeFileSync(join(cwd, "notes.txt"), "two\nlines\n");
    const args = ["call", ...embedded, "write_file", "--path", "copy.txt", "--content", "@notes.txt"];
    expect((await runInProcess(args, { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, ".a2e/workspace/copy.txt"), "utf8")).toBe("two\nlines\n");
  });

  test("call --help behind a tool shows its arguments", async () => {
    const { stdout } = await runInProcess(["call", ...embedded, "grep", "--help"], { cwd: newProject() });
    expect(stdout).toMatch(/^Usage: a2e call grep --pattern/);
    expect(stdout).toMatch(/--ignore_case <boolean>/);
  });

  test.each([
    [["js_evil"], 2, /no tool "js_evil"; did you mean js_eval\?/],
    [["js_eval", "--cod", "1"], 2, /did you mean --code\?/],
    [["js_eval"], 2, /"code" .*required/],
    [["js_eval", "--code", "1", "--url", "http://x"], 2, /comes before the tool's name/],
    [["js_eval", "--json-args", "[]"], 2, /expected a JSON object/],
    [["js_eval", "--code", "throw new Error('broken')"], 4, /broken/],
    [["read_file", "--path", "gone.txt"], 4, /gone\.txt/],
  ])("call %j ends with %i", async (args, expected, message) => {
    const { code, stderr } = await runInProcess(["call", ...embedded, ...args], { cwd: newProject() });
    expect(stderr).toMatch(message);
    expect(code).toBe(expected);
  });

  test("call --json prints an error as JSON too", async () => {
    const args = ["call", ...embedded, "--json", "read_file", "--path", "gone.txt"];
    const { code, stdout } = await runInProcess(args, { cwd: newProject() });
    expect(JSON.parse(stdout)).toMatchObject({ success: false, tool_name: "read_file" });
    expect(code).toBe(4);
  });
});

describe("against a running host", () => {
  test("the host of this folder's config is found, called and listed, with its token", async () => {
    const cwd = newFolder();
    const config = toHostConfig({ auth_token: "s3cret", server: { port: 0 } }, { baseDir: cwd, env: {} });
    await using server = await startConfiguredServer(config);
    writeFileSync(join(cwd, "a2e.yaml"), `auth_token: s3cret\nserver: { port: ${server.port} }\n`);
    const call = await runInProcess(["call", "js_eval", "--code", "6 * 7"], { cwd });
    expect(call).toEqual({ code: 0, stdout: "42\n", stderr: `using the host at http://127.0.0.1:${server.port}\n` });

    server.host.sessions.create();
    const { stdout } = await runInProcess(["sessions", "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject([{ status: "new", calls_in_flight: 0 }]);
    expect((await runInProcess(["sessions"], { cwd })).stdout).toMatch(/^SESSION +PRINCIPAL +AGENT +STATUS/);

    const elsewhere = newFolder();
    const denied = await runInProcess(["call", "--url", server.url, "js_eval", "--code", "1"], { cwd: elsewhere });
    expect(denied).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("A2E_AUTH_TOKEN") });
    expect((await runInProcess(["sessions", "--url", server.url], { cwd: elsewhere })).code).toBe(3);
    const env = { A2E_AUTH_TOKEN: "s3cret" };
    const allowed = await runInProcess(["call", "--url", server.url, "js_eval", "--code", "1"], {
      cwd: elsewhere,
      env,
    });
    expect(allowed.stdout).toBe("1\n");
  });

  test("a host that is not reachable is reported with advice", async () => {
    const unused = createServer();
    await new Promise<void>((resolve) => unused.listen(0, "127.0.0.1", resolve));
    const { port } = unused.address() as AddressInfo;
    await new Promise((resolve) => unused.close(resolve));
    for (const command of [["tools"], ["sessions"]]) {
      const { code, stderr } = await runInProcess([...command, "--url", `http://127.0.0.1:${port}`], {
        cwd: newFolder(),
      });
      expect(code).toBe(3);
      expect(stderr).toMatch(/could not reach a host at .*\nIs .*running\?/s);
    }
  });
});

describe("doctor", () => {
  test("reports every check, and fails if a host could not start", async () => {
    const cwd = newProject("hosst_id: x\n");
    const { code, stdout } = await runInProcess(["doctor", "--json", ...embedded], { cwd, env: process.env });
    const findings = JSON.parse(stdout) as { name: string; status: string; message: string }[];
    expect(code).toBe(1);
    expect(findings.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "node",
        "config",
        "sqlite",
        "data",
        "workspace",
        "port",
        "sandbox",
        "bubblewrap",
        "docker",
        "quickjs",
        "none",
        "chromium",
      ]),
    );
    expect(findings.find(({ name }) => name === "config")).toMatchObject({ status: "fail" });
    expect(findings.find(({ name }) => name === "sqlite")).toMatchObject({ status: "ok" });
  });

  test("reports where programs would run, and fails if a sandbox named in the config does not work", async () => {
    const find = async (config: string) => {
      const cwd = newProject(config);
      const { stdout, code } = await runInProcess(["doctor", "--json", ...embedded], { cwd, env: process.env });
      const findings = JSON.parse(stdout) as { name: string; status: string; message: string }[];
      return { code, finding: findings.find(({ name }) => name === "sandbox") };
    };
    const unconfined = await find("sandbox: { default: none }\n");
    expect(unconfined.finding).toMatchObject({ status: "warn", message: expect.stringContaining("without any") });
    const missing = await find("sandbox: { default: docker, docker_image: 'no-such-image-anywhere:0' }\n");
    expect(missing.finding).toMatchObject({ status: "fail", message: expect.stringContaining("docker: ") });
    expect(missing.code).toBe(1);
  });

  test("reports advice for a port that is in use", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    const { stdout } = await runInProcess(["doctor", "--port", String(port)], { cwd: newFolder(), env: process.env });
    await new Promise((resolve) => taken.close(resolve));
    expect(stdout).toMatch(new RegExp(`warn +port +${port} on 127.0.0.1 is in use\\n.*--port`));
  });
});

test("colours are for a terminal that wants them", () => {
  expect(createStyle({ isTTY: true }, {}).red("x")).not.toBe("x");
  expect(createStyle({ isTTY: true }, { NO_COLOR: "1" }).red("x")).toBe("x");
  expect(createStyle({ isTTY: true }, { TERM: "dumb" }).red("x")).toBe("x");
  expect(createStyle({}, {}).red("x")).toBe("x");
});

test("lines to copy call the program as it was called", () => {
  expect(programName("/usr/local/bin/a2e", "/home/me")).toBe("a2e");
  expect(programName("/home/me/app/node_modules/.bin/a2e", "/home/me/app")).toBe("npx a2e");
  expect(programName("/home/me/a2e/dist/cli/main.js", "/home/me/a2e")).toBe("node dist/cli/main.js");
  expect(programName("/home/my stuff/main.js", "/tmp")).toBe('node "/home/my stuff/main.js"');
});
