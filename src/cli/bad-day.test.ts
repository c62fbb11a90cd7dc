// The command line when something else fails: the network, the host, the user's own folder.
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type Server } from "node:http";
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { CliError, reportFailure } from "./failure.ts";
import { createLogFile } from "./hosting/log-file.ts";
import { createStyle } from "./style.ts";
import type { Terminal } from "./terminal.ts";
import { runInProcess } from "./test-terminal.suite.ts";

const nextPath = useTemporaryFolder();

function newFolder(config?: string): string {
  const path = nextPath();
  mkdirSync(path);
  if (config !== undefined) writeFileSync(join(path, "a2e.yaml"), config);
  return path;
}

async function listen(server: Server | NetServer): Promise<{ port: number; close(): Promise<unknown> }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { port, close: () => new Promise((resolve) => server.close(resolve)) };
}

test("a value from standard input may come late, and may be an item of a list", async () => {
  for (const [tool, name] of [
    ["write_file", "--content"],
    ["js_eval", "--code"],
  ] as const) {
    const input = new PassThrough();
    setTimeout(() => input.end("6 * 7"), 20);
    const path = tool === "write_file" ? ["--path", "late.txt"] : [];
    const cwd = newFolder("server: { port: 0 }\n");
    const { code, stderr } = await runInProcess(["call", tool, ...path, name, "@-"], { cwd, input });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    if (tool === "write_file") expect(readFileSync(join(cwd, ".a2e/workspace/late.txt"), "utf8")).toBe("6 * 7");
  }
});

test("sessions sends the token of this folder's config to no other host", async () => {
  const tokens: unknown[] = [];
  const stranger = createHttpServer((request, response) => {
    tokens.push(request.headers.authorization);
    response.end('{"sessions":[]}');
  });
  const { port, close } = await listen(stranger);
  const cwd = newFolder("auth_token: s3cret\n");
  await runInProcess(["sessions", "--url", `http://127.0.0.1:${port}`], { cwd });
  await runInProcess(["sessions", "--url", `http://127.0.0.1:${port}`, "--token", "theirs"], { cwd });
  await close();
  expect(tokens).toEqual([undefined, "Bearer theirs"]);
});

test("an address with a password is refused, and not repeated", async () => {
  for (const command of ["tools", "sessions"]) {
    const args = [command, "--url", "http://me:s3cret@127.0.0.1:1"];
    const { code, stderr } = await runInProcess(args, { cwd: newFolder() });
    expect(code).toBe(2);
    expect(stderr).toContain("--token");
    expect(stderr).not.toContain("s3cret");
  }
});

test("a host that listens and does not answer is reported as such; no other host is used instead", async () => {
  const sockets = new Set<Socket>();
  const { port, close } = await listen(createServer((socket) => void sockets.add(socket.on("error", () => {}))));
  const { code, stderr } = await runInProcess(["tools"], { cwd: newFolder(`server: { port: ${port} }\n`) });
  for (const socket of sockets) socket.destroy();
  await close();
  expect(code).toBe(3);
  expect(stderr).toContain("does not answer");
});

test("conformance of a host that is not reachable reports it once, and exits with 3", async () => {
  const { port, close } = await listen(createServer());
  await close();
  for (const target of [`http://127.0.0.1:${port}`, "no-such-command-anywhere"]) {
    const { code, stdout, stderr } = await runInProcess(["conformance", target], { cwd: newFolder() });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("the host could not be asked");
  }
});

test("init makes the folder it is to write into", async () => {
  const cwd = newFolder();
  expect((await runInProcess(["init", "hosts/lab.yaml"], { cwd })).code).toBe(0);
  expect(statSync(join(cwd, "hosts/lab.yaml")).mode & 0o777).toBe(0o600);
});

test("doctor sees plugins that would not load, and a file in the place of a folder", async () => {
  const cwd = newFolder("plugins: [{ type: toolz }]\ndata_dir: taken\n");
  writeFileSync(join(cwd, "taken"), "");
  const { code, stdout } = await runInProcess(["doctor", "--json"], { cwd, env: process.env });
  const findings = JSON.parse(stdout) as { name: string; status: string; message: string }[];
  expect(code).toBe(1);
  expect(findings.find(({ name }) => name === "plugins")).toMatchObject({
    status: "fail",
    message: expect.stringContaining('did you mean "tools"?'),
  });
  expect(findings.find(({ name }) => name === "data")).toMatchObject({
    status: "fail",
    message: expect.stringContaining("is a file"),
  });
});

test("text from another machine cannot control the terminal", () => {
  const notes: string[] = [];
  const style = createStyle({}, {});
  const terminal = { noteStyle: style, env: {}, note: (text: string) => void notes.push(text), program: "a2e" };
  const error = new CliError("\u001b[2Jgone\u009b31m", { hint: "\u0007try\nagain" });
  reportFailure(error, terminal as unknown as Terminal);
  expect(notes).toEqual(["error: [2Jgone31m", "try\nagain"]);
});

test("a log file that has grown large is set aside while it is written", () => {
  const path = join(newFolder(), "stdio.log");
  const log = createLogFile(path, 10_000);
  for (let count = 0; count < 1_000; count++) log.info("a plugin that talks a lot");
  expect(statSync(path).size).toBeLessThan(11_000);
  expect(statSync(`${path}.1`).size).toBeLessThan(11_000);
});
