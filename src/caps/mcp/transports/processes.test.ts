// Servers do not outlive a killed host, and get only what they need of its environment.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { childrenOf, guardShellOf } from "../../../machinery/processes/guarded-host.suite.ts";
import { linux, type Need, testWith } from "../../../testing/needs.suite.ts";
import { ownServer, startBridge, waitFor } from "../start-bridge.suite.ts";
import { createStdioEnvironment } from "./stdio.ts";

const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

/** Members of a process group, on Linux. */
function groupOf(pid: number): number[] {
  return spawnPs().flatMap(({ pid: member, group }) => (group === pid ? [member] : []));
}

function spawnPs(): { pid: number; group: number }[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return state === "Z" ? [] : [{ pid: Number(name), group: Number(group) }];
    } catch {
      return [];
    }
  });
}

const require = createRequire(import.meta.url);
const pty = await import("@lydell/node-pty").catch(() => undefined);
const onLinux = testWith(linux);
const terminals: Need = { name: "the package @lydell/node-pty", isMet: pty !== undefined };

onLinux("a server that ignores every request to end is ended with the host, and so is what it started", async () => {
  const bridge = await startBridge({ deaf: { cmd: ownServer("hostile", "--deaf", "--child") } });
  await bridge.status("deaf", "ready");
  const pid = Number(textOf(await bridge.call("deaf__pid")));
  const before = groupOf(pid);

  await bridge.close();

  expect(before).toHaveLength(2);
  expect(groupOf(pid)).toEqual([]);
});

onLinux("a server that crashes takes what it started with it", async () => {
  await using bridge = await startBridge({ bad: { cmd: ownServer("hostile", "--child"), auto_reconnect: false } });
  await bridge.status("bad", "ready");
  const pid = Number(textOf(await bridge.call("bad__pid")));

  await expect(bridge.call("bad__crash")).rejects.toMatchObject({ code: "mcp_transport_error" });

  await waitFor(() => (groupOf(pid).length === 0 ? true : undefined), "the group to end");
});

async function startHost(...flags: string[]) {
  const loader = pathToFileURL(require.resolve("tsx")).href;
  const script = fileURLToPath(new URL("../fixtures/host.suite.ts", import.meta.url));
  const host = spawn(process.execPath, ["--import", loader, script, ...ownServer("hostile", ...flags)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: host.stdout }), "line")) as [string];
  return { host, server: Number(line) };
}

onLinux.each([[[]], [["--deaf", "--child"]]])(
  "servers with %j end after their host was killed",
  { timeout: 60_000 },
  async (flags) => {
    const { host, server } = await startHost(...flags);
    expect(groupOf(server).length).toBeGreaterThan(0);

    host.kill("SIGKILL");
    await once(host, "exit");

    await waitFor(() => (groupOf(server).length === 0 ? true : undefined), "the servers to end");
  },
);

onLinux(
  "servers end after a host that was killed, also if the shell of its guard was killed before",
  { timeout: 60_000 },
  async () => {
    const { host, server } = await startHost("--deaf", "--child");
    const shell = () => guardShellOf(host.pid as number, "a2e-servers");
    const first = await waitFor(shell, "the shell");
    process.kill(first, "SIGKILL");
    await waitFor(() => ![undefined, first].includes(shell()) || undefined, "another shell");

    host.kill("SIGKILL");
    await once(host, "exit");

    await waitFor(() => (groupOf(server).length === 0 ? true : undefined), "the servers to end");
  },
);

test("a server gets only the standard variables of the host's environment and those of its config", async () => {
  process.env.A2E_TEST_SECRET = "for the host alone";
  try {
    await using bridge = await startBridge({ s: { cmd: ownServer("hostile"), env: { GIVEN: "to the server" } } });
    await bridge.status("s", "ready");

    const environment = JSON.parse(textOf(await bridge.call("s__env")) ?? "{}") as Record<string, string>;

    expect(environment.GIVEN).toBe("to the server");
    expect(environment.PATH).toBe(process.env.PATH);
    expect(Object.keys(environment)).not.toContain("A2E_TEST_SECRET");
    expect(Object.keys(environment).filter((name) => !(name in createStdioEnvironment({ GIVEN: "" })))).toEqual([]);
  } finally {
    delete process.env.A2E_TEST_SECRET;
  }
});

testWith(linux, terminals)(
  "a server that is started while a session has a terminal does not inherit it, and neither does the guard",
  async () => {
    const terminal = (pty as NonNullable<typeof pty>).spawn("/bin/cat", [], { cwd: "/" });
    try {
      await using bridge = await startBridge({ late: { cmd: ownServer("hostile") } });
      await bridge.status("late", "ready");
      const pid = Number(textOf(await bridge.call("late__pid")));
      const children = childrenOf(process.pid);
      expect(children).toContain(pid);
      // Only the program on the terminal may have it open.
      expect(children.filter((child) => child !== terminal.pid).filter(holdsMaster)).toEqual([]);
      expect(holdsMaster(process.pid)).toBe(true);
    } finally {
      terminal.kill("SIGKILL");
    }
  },
);

function holdsMaster(pid: number): boolean {
  const files = readdirSync(`/proc/${pid}/fd`);
  return files.some((file) => readlinkSync(`/proc/${pid}/fd/${file}`).endsWith("/ptmx"));
}
