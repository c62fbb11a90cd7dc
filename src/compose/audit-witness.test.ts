import { cpSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { createAuditWitness, createMemoryCheckpoints } from "../client/audit-witness.ts";
import { toHostConfig } from "../config/parsing.ts";
import { readCheckpoint } from "../proofs/continuation.ts";
import { shutdownReport } from "../protocol/core.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { startConfiguredServer } from "./configured-server.ts";
import { connect } from "./connect-node.ts";

const newPath = useTemporaryFolder();

function createScene() {
  const dataDir = newPath();
  const store = createMemoryCheckpoints();
  const forks: string[] = [];
  const raw = { data_dir: dataDir, server: { port: 0 }, plugins: [{ type: "memory" }], audit: { mode: "proven" } };
  const config = toHostConfig(raw, { env: {} });
  const witness = createAuditWitness({ store, host: "home", onFork: ({ message }) => void forks.push(message) });
  return {
    dataDir,
    forks,
    heldSize: () => witness.heldSize(),
    /** The host runs for one visit. When it stops, it signs its last entries. */
    async visit(calls = 1, options: Parameters<typeof connect>[1] = { witness }): Promise<unknown> {
      await using server = await startConfiguredServer(config);
      const client = await connect(server.url, options);
      const closed = new Promise((resolve) => client.onPush(shutdownReport, resolve));
      for (let count = 0; count < calls; count++) await client.memory.store({ entries: [{ key: "k", content: "v" }] });
      await server.host.sessions.delete(client.sessionId);
      const report = await closed;
      await client.disconnect();
      return report;
    },
  };
}

test("an agent that returns reports a host that was restored from an older backup", async () => {
  const { dataDir, forks, heldSize, visit } = createScene();
  await visit();
  await visit();
  const before = (await heldSize()) ?? 0;
  expect(before).toBeGreaterThan(0);
  const backup = newPath();
  cpSync(dataDir, backup, { recursive: true });
  await visit(5);
  await visit();
  const after = (await heldSize()) ?? 0;
  expect(after).toBeGreaterThan(before);
  expect(forks).toEqual([]);

  rmSync(dataDir, { recursive: true });
  cpSync(backup, dataDir, { recursive: true });
  await expect(visit()).rejects.toMatchObject({ code: "audit_fork", message: expect.stringContaining("rolled back") });
  // Another agent works with the host, and its log grows beyond the size that the first agent has seen.
  await visit(20, {});
  await expect(visit()).rejects.toMatchObject({ code: "audit_fork", message: expect.stringContaining("rewritten") });
  expect(forks).toHaveLength(2);
  expect(await heldSize()).toBe(after);
});

test("the last message of a session has the newest checkpoint and the number of its audit entries", async () => {
  const { visit } = createScene();
  await visit(0);
  const report = (await visit(3)) as { audit: { n: number; checkpoint: string } };
  // The handshake and three calls.
  expect(report.audit.n).toBe(4);
  expect(readCheckpoint(report.audit.checkpoint)?.size).toBeGreaterThan(0);
});
