import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, expect } from "vitest";
import { defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import { type Need, reportNotRun, testWith } from "../../testing/needs.suite.ts";
import { makeWorkspace, runConfined } from "../suites/confined-run.suite.ts";
import { hasControlGroups, sandboxOf, testBubblewrap } from "./bubblewrap.suite.ts";
import { openBubblewrap } from "./probe.ts";

const probe = await openBubblewrap({ defaults });
const bubblewrap: Need = { name: `bubblewrap (${probe.explanation})`, isMet: probe.sandbox !== undefined };
afterAll(() => probe.sandbox?.close());

if (probe.sandbox === undefined) reportNotRun("the shared suite of sandboxes for bubblewrap", bubblewrap);
else {
  const controlGroups: Need = { name: "control groups", isMet: hasControlGroups(probe), isOptional: true };
  if (!controlGroups.isMet)
    reportNotRun("the shared suites of sandboxes for bubblewrap with control groups", controlGroups);
  testBubblewrap({ usesControlGroups: controlGroups.isMet });
}

testWith(bubblewrap)("system calls that reconfigure the system are rejected by a filter", async () => {
  const { stdout } = await runConfined(sandboxOf(probe), ["grep", "Seccomp:", "/proc/self/status"]);
  expect(stdout).toBe("Seccomp:\t2\n");
  const { stderr } = await runConfined(sandboxOf(probe), ["unshare", "--user", "true"]);
  expect(stderr).toContain("Operation not permitted");
});

testWith(bubblewrap)("the first process reaps orphans, and no process inside can end it", async () => {
  const orphans = "i=0; while [ $i -lt 50 ]; do (true &); i=$((i + 1)); done";
  // Without a limit of its own: the test times out if it never ends.
  const burial = "while grep -q '^State:.Z' /proc/[0-9]*/status 2> /dev/null; do sleep 0.05; done";
  const script = `${orphans}; ${burial}; echo buried; kill -9 -1; kill -9 1; exit 200`;
  const { stdout, code } = await runConfined(sandboxOf(probe), ["sh", "-c", script]);
  expect({ stdout, code }).toEqual({ stdout: "buried\n", code: 200 });
});

testWith(bubblewrap)("sockets that bypass the network namespace cannot be created", async () => {
  const script = `import errno, socket
for family in (17, 31, 38, 40):
    try: socket.socket(family, socket.SOCK_STREAM); print("GOT", family)
    except OSError as error: print(errno.errorcode[error.errno])
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6): socket.socket(family, socket.SOCK_STREAM).close()
print("fine")`;
  const { stdout } = await runConfined(sandboxOf(probe), ["python3", "-c", script]);
  expect(stdout).toBe(`${"EAFNOSUPPORT\n".repeat(4)}fine\n`);
});

testWith(bubblewrap)(
  "a folder of the host is empty in the sandbox, also inside a workspace, except for the parts that are shown",
  async () => {
    await using folder = await makeWorkspace();
    const data = join(folder.path, "data");
    const copy = join(data, "copies", "one");
    await mkdir(copy, { recursive: true });
    await writeFile(join(data, "secret.key"), "hidden");
    await writeFile(join(copy, "script"), "shown");
    const sandbox = sandboxOf(await openBubblewrap({ defaults, hidden: [data] }));
    const script = `ls ${data}; cat ${copy}/script; touch ${data}/new ${copy}/new; cat ${data}/secret.key`;
    const { stdout } = await runConfined(sandbox, ["sh", "-c", script], {
      workspace: { path: folder.path, access: "write" },
      readable: [copy],
    });
    await sandbox.close();
    expect(stdout).toBe("copies\nshown");
    expect((await stat(join(data, "secret.key"))).uid).toBe(process.getuid?.());
  },
);

testWith(bubblewrap)("a link to a workspace does not show its hidden folders", async () => {
  await using folder = await makeWorkspace();
  const project = join(folder.path, "project");
  await mkdir(join(project, "data"), { recursive: true });
  await writeFile(join(project, "data", "secret.key"), "hidden");
  await symlink(project, join(folder.path, "link"));
  const link = join(folder.path, "link");
  // The host's folder may have another name too.
  for (const hidden of [join(project, "data"), join(link, "data")]) {
    const sandbox = sandboxOf(await openBubblewrap({ defaults, hidden: [hidden] }));
    for (const path of [link, project]) {
      const script = `ls ${path}; cat ${path}/data/secret.key`;
      const shown = await runConfined(sandbox, ["sh", "-c", script], { workspace: { path, access: "write" } });
      const read = await runConfined(sandbox, ["sh", "-c", script], { readable: [path], cwd: "/tmp" });
      expect([shown.stdout, read.stdout]).toEqual(["data\n", "data\n"]);
    }
    await sandbox.close();
  }
});

testWith(bubblewrap)("a hidden folder cannot be moved to where the next program finds it", async () => {
  await using folder = await makeWorkspace();
  const hidden = join(folder.path, "var", "lib", "data");
  await mkdir(hidden, { recursive: true });
  await writeFile(join(hidden, "secret.key"), "hidden");
  const sandbox = sandboxOf(await openBubblewrap({ defaults, hidden: [hidden] }));
  const run = (script: string) =>
    runConfined(sandbox, ["sh", "-c", script], { workspace: { path: folder.path, access: "write" } });
  await run("mv var elsewhere; mv var/lib elsewhere; mv var/lib/data elsewhere; echo mine > var/lib/file");
  const { stdout } = await run("find . -name secret.key; cat var/lib/file");
  await sandbox.close();
  expect(stdout).toBe("mine\n");
  expect((await stat(join(hidden, "secret.key"))).size).toBe(6);
});

testWith(bubblewrap)("a program whose policy allows it can use the network", async () => {
  const server = createServer((socket) => socket.end("hello"));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const script = `require("node:net").connect(${port}, "127.0.0.1").on("data", (data) => console.log(String(data))).on("error", (error) => console.log(error.code))`;
  const readable = process.execPath.startsWith("/usr/") ? [] : [dirname(dirname(process.execPath))];
  const connect = (network: boolean) =>
    runConfined(sandboxOf(probe), [process.execPath, "-e", script], { network, readable });
  const [allowed, refused] = await Promise.all([connect(true), connect(false)]);
  server.close();
  expect([allowed.stdout, refused.stdout]).toEqual(["hello\n", "ECONNREFUSED\n"]);
});
