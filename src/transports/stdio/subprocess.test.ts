import { readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop as stopBundler } from "esbuild";
import { expect, test, vi } from "vitest";
import { createMessage } from "../../protocol/codec.ts";
import type { Message } from "../../protocol/envelope.ts";
import { linux, testWith } from "../../testing/needs.suite.ts";
import { type TransportFixture, testTransport } from "../transport.suite.ts";
import { createSubprocessTransport, type SubprocessOptions } from "./subprocess.ts";

testTransport("subprocess", startEchoChildren);

/** Without its path, the program that makes named pipes is not found. */
testTransport("subprocess without named pipes", async () => {
  vi.stubEnv("PATH", "");
  const { stop, ...fixture } = await startEchoChildren();
  return {
    ...fixture,
    async stop() {
      vi.unstubAllEnvs();
      await stop();
    },
  };
});

/** Bundled once: a child that compiles TypeScript first takes longer to start than all of its test. */
async function startEchoChildren(): Promise<TransportFixture> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-echo-"));
  const script = join(folder, "echo-child.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("./echo-child.suite.ts", import.meta.url))],
    outfile: script,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "silent",
  });
  await stopBundler();
  return {
    createTransport: () => createSubprocessTransport({ command: process.execPath, args: [script] }),
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Runs a few lines of JavaScript as the host. */
function childRunning(script: string, options: Partial<SubprocessOptions> = {}) {
  return createSubprocessTransport({ command: process.execPath, args: ["-e", script], ...options });
}

/** Opens the transport and resolves with the messages that arrived until the link ended. */
async function collect(
  transport: ReturnType<typeof childRunning>,
): Promise<{ received: Message[]; reason: Error | undefined }> {
  const received: Message[] = [];
  const reason = await new Promise<Error | undefined>((resolve, reject) => {
    transport
      .open({ receive: (message) => void received.push(message), restored: () => {}, closed: resolve })
      .catch(reject);
  });
  return { received, reason };
}

test("lines that are not messages are skipped, and a printed prefix is removed", async () => {
  const lines = [
    "A2E_HOST_READY",
    'line: {"type":"one","id":"1"}',
    "",
    "  ",
    "[1]",
    "{broken",
    '{"type":"two","id":"2"}',
  ];
  const { received } = await collect(childRunning(`process.stdout.write(${JSON.stringify(lines.join("\n"))})`));
  expect(received.map((message) => message.type)).toEqual(["one", "two"]);
});

test("the reason names the exit code and the last words of the child", async () => {
  const { reason } = await collect(
    childRunning("console.error('x'.repeat(100000) + ' out of cheese'); process.exitCode = 3"),
  );
  expect(reason?.message).toMatch(/exit code 3.* out of cheese$/s);
  expect(reason?.message.length).toBeLessThan(5_000);
});

test("a child killed by a signal is reported with it", async () => {
  const { reason } = await collect(childRunning("process.kill(process.pid, 'SIGKILL')"));
  expect(reason?.message).toContain("SIGKILL");
});

test("a missing command is reported as missing", async () => {
  const transport = createSubprocessTransport({ command: "no-such-command-anywhere" });
  await expect(collect(transport)).rejects.toThrow("command not found: no-such-command-anywhere");
  await transport.close();
});

test("environment and folder reach the child, and its stderr the listener", async () => {
  let said = "";
  const script = "console.error('said'); console.log(JSON.stringify({ type: process.env.COLOUR, id: process.cwd() }))";
  const onStderr = (text: string) => {
    said += text;
  };
  const options = { env: { COLOUR: "green" }, cwd: "/", onStderr };
  const { received } = await collect(childRunning(script, options));
  expect(received).toEqual([{ type: "green", id: "/" }]);
  expect(said).toBe("said\n");
});

test("a child that talks a lot on stderr does not stall", async () => {
  const script = 'process.stderr.write(\'x\'.repeat(1_000_000), () => console.log(\'{"type":"done","id":"1"}\'))';
  const { received } = await collect(childRunning(script));
  expect(received).toHaveLength(1);
});

test("a line longer than the limit ends the link", async () => {
  const { reason } = await collect(
    childRunning("console.log('{' + 'x'.repeat(5000)); setInterval(() => {}, 1000)", { maxLineLength: 1000 }),
  );
  expect(reason?.message).toContain("more than 1000 characters");
});

test("closing ends a child that ignores the end of its input and SIGTERM", async () => {
  const script =
    'process.on(\'SIGTERM\', () => {}); setInterval(() => {}, 1000); console.log(\'{"type":"up","id":"1"}\')';
  const transport = childRunning(script, { exitTimeoutMs: 50, killTimeoutMs: 50 });
  const up = new Promise<void>((resolve, reject) => {
    transport
      .open({
        receive: () => resolve(),
        restored: () => {},
        closed: (reason) => reason !== undefined && reject(reason),
      })
      .catch(reject);
  });
  await up;
  await transport.close();
  expect(() => transport.send(createMessage("ping", "1", 0, {}))).toThrow("not open");
});

/** Opens the transport and resolves after the first output of the child; `said` collects its stderr. */
async function listenTo(script: string, exitTimeoutMs: number) {
  const heard = { said: "" };
  const onStderr = (text: string) => {
    heard.said += text;
  };
  const transport = childRunning(`${script}; console.log('{"type":"up","id":"1"}')`, { exitTimeoutMs, onStderr });
  await new Promise<void>((resolve, reject) => {
    transport.open({ receive: () => resolve(), restored: () => {}, closed: () => {} }).catch(reject);
  });
  return { transport, heard };
}

test("a child that does not read does not block the agent, and later reads all lines in order", async () => {
  // It reads only when it is asked to end, after all lines were sent.
  const { transport, heard } = await listenTo(
    `const waiting = setInterval(() => {}, 1000);
    process.on("SIGTERM", () => process.stdin.pipe(process.stderr));
    process.stdin.on("end", () => clearInterval(waiting))`,
    1,
  );
  const messages = Array.from({ length: 300 }, (_, number) =>
    createMessage("say", String(number), 0, { text: "é€😀".repeat((number * 37) % 3_000) }),
  );
  for (const message of messages) {
    transport.send(message);
    // Each in a write of its own.
    await Promise.resolve();
  }
  await transport.close();
  expect(heard.said === messages.map((message) => `${JSON.stringify(message)}\n`).join("")).toBe(true);
});

test("the link lasts until the last process that holds the output has closed it", async () => {
  const grandchild = `while kill -0 $0 2>/dev/null; do :; done; echo '{"type":"late","id":"1"}'`;
  const script = `require("node:child_process").spawn("sh", ["-c", ${JSON.stringify(grandchild)}, String(process.pid)],
    { stdio: ["ignore", "inherit", "ignore"], detached: true }).unref()`;
  const { received } = await collect(childRunning(script));
  expect(received).toEqual([{ type: "late", id: "1" }]);
});

test("each child sees the end of its own input", async () => {
  const script = "process.stdin.on('end', () => console.error('the end')).resume()";
  const [first, second] = await Promise.all([listenTo(script, 60_000), listenTo(script, 60_000)]);
  await first.transport.close();
  expect([first.heard.said, second.heard.said]).toEqual(["the end\n", ""]);
  await second.transport.close();
  expect(second.heard.said).toBe("the end\n");
});

testWith(linux)("no descriptor is left, whether the child was started or not", async () => {
  const before = openFiles();
  await collect(childRunning("console.log('{}')"));
  await expect(collect(createSubprocessTransport({ command: "no-such-command-anywhere" }))).rejects.toThrow();
  await expect(collect(createSubprocessTransport({ command: "null\0byte" }))).rejects.toThrow("could not start");
  await expect.poll(openFiles).toEqual(before);
});

function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)].filter((path) => path.includes("a2e-pipes-"));
    } catch {
      return []; // The descriptor that reads the folder.
    }
  });
}
