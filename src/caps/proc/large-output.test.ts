// Without the recorded wire of other tests, which keeps all messages.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { A2EClient } from "../../client/client.ts";
import { keepSessions } from "../../durability/keep-sessions.ts";
import { A2EHost } from "../../host/host.ts";
import type { Session } from "../../host/session.ts";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import type { ProcOptions } from "./options.ts";
import { procPlugin } from "./plugin.ts";
import { dataOf } from "./proc-host.suite.ts";
import { proc } from "./protocol.ts";

const mebibyte = 1024 * 1024;

async function startBare(options: ProcOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), "a2e-proc-"));
  const host = await A2EHost.start({
    plugins: [procPlugin({ sandbox: "none", allowed_commands: ["*"], max_output_bytes: 0, ...options })],
    sandboxes: createSandboxes(),
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    workspaceDir: folder,
  });
  return {
    host,
    async [Symbol.asyncDispose]() {
      await host.close(0);
      await rm(folder, { recursive: true });
    },
  };
}

/** Memory in use after a garbage collection. */
function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test("a gigabyte of output is passed on and leaves nothing in memory", async () => {
  await using bare = await startBare();
  const transport = createDirectTransport(() => bare.host.sessions.create());
  const client = await A2EClient.connect({ transport, capabilities: ["proc"] });
  let bytes = 0;
  let peak = 0;
  const before = usedBytes();
  const ended = new Promise<Record<string, unknown>>((resolve) => {
    client.onPush(proc.pushes.read, (event) => {
      const data = dataOf(event);
      if (data.code !== undefined) return resolve(data);
      bytes += String(data.text).length;
      peak = Math.max(peak, usedBytes());
    });
  });
  await client.use(proc).spawn({ cmd: ["head", "-c", "1000000000", "/dev/zero"] });

  expect(await ended).toMatchObject({ code: 0 });
  expect(bytes).toBe(1_000_000_000);
  expect(peak - before).toBeLessThan(256 * mebibyte);
  await client.disconnect();
});

/** Sends a request as a line and reads up to its answer. */
async function ask(session: Session, type: string, fields: object): Promise<Record<string, unknown>> {
  const id = `${type} ${session.lastSeq} ${Math.random()}`;
  const reader = session.attach(session.lastSeq, () => {});
  try {
    session.receiveLine(JSON.stringify({ type, id, version: "1.0", ...fields }));
    for (;;) {
      for (const { line } of reader.read(mebibyte)) {
        const message = JSON.parse(line) as Record<string, unknown>;
        if (message.req_id === id && message.type !== "proc/read/event") return message;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  } finally {
    reader.close();
  }
}

test("an agent that receives nothing costs a bounded log and a ring, and reads the newest output by its cursor", async () => {
  await using bare = await startBare({ stall_ms: 50 });
  const session = bare.host.sessions.create();
  await ask(session, "handshake/req", { agent_id: "slow", agent_caps: ["proc"] });
  const before = usedBytes();
  let peak = 0;
  const size = 100_000_000;
  const { proc_id } = await ask(session, "proc/spawn/req", {
    cmd: ["sh", "-c", `yes | head -c ${size}`],
  });
  for (let state: unknown = "running"; state === "running"; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    peak = Math.max(peak, usedBytes());
    ({ state } = await ask(session, "proc/status/req", { proc_id }));
  }
  const { missed, chunks, eof } = await ask(session, "proc/read/req", { proc_id, max_bytes: mebibyte });

  expect(peak - before).toBeLessThan(128 * mebibyte);
  expect(missed).toBe(size - mebibyte);
  expect([(chunks as { bytes: number }[])[0]?.bytes, eof]).toEqual([mebibyte, true]);
});

test("a process waits for a slow agent, and no output is lost", async () => {
  await using bare = await startBare();
  const session = bare.host.sessions.create();
  await ask(session, "handshake/req", { agent_id: "slow", agent_caps: ["proc"] });
  const from = session.lastSeq;
  const size = 20_000_000;
  await ask(session, "proc/spawn/req", { cmd: ["sh", "-c", `yes | head -c ${size}`] });
  const reader = session.attach(from, () => {});
  let bytes = 0;
  let mostUnsent = 0;
  let isOver = false;
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    mostUnsent = Math.max(mostUnsent, session.unsentBytes);
    for (const { line } of reader.read(256 * 1024)) {
      const message = JSON.parse(line) as { type: string; data: { text?: string; code?: number } };
      expect(message.type).not.toBe("session/gap");
      if (message.type !== "proc/read/event") continue;
      bytes += message.data.text?.length ?? 0;
      isOver = message.data.code === 0;
    }
  }
  reader.close();

  expect(bytes).toBe(size);
  expect(mostUnsent).toBeLessThan(4 * mebibyte);
});
