import { statSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { silentLogger } from "../plugin/logger.ts";
import { openSqlite } from "../stores/sqlite/sqlite.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { apiKeyPath, openApiKeyFile } from "./api-key-file.ts";

const nextPath = useTemporaryFolder();

test("keys that another connection creates, revokes and rotates are effective in a running host at once", async () => {
  const dataDir = nextPath();
  const host = await openApiKeyFile({ dataDir, log: silentLogger });
  const revocations: unknown[] = [];
  host.keys.onRevoked((revocation) => revocations.push(revocation));
  const command = await openApiKeyFile({ dataDir, log: silentLogger, isWatched: false });
  const created = command.keys.create({ id: "ci-bot", roles: ["agent"] });
  const rotated = command.keys.rotate("ci-bot");
  await command.close();

  const present = (token: string) => host.keys.authenticate({ token, agentId: "a" });
  expect(present(created.key)).toEqual({ refused: "wrong" });
  expect(present(rotated.key)).toMatchObject({ id: "key:ci-bot" });

  const second = await openApiKeyFile({ dataDir, log: silentLogger, isWatched: false });
  second.keys.revoke("ci-bot");
  await second.close();
  expect(present(rotated.key)).toMatchObject({ refused: "revoked" });
  await vi.waitFor(() =>
    expect(revocations).toEqual([
      { principalId: "key:ci-bot", reason: "rotated" },
      { principalId: "key:ci-bot", reason: "revoked" },
    ]),
  );
  await host.close();
  await host.close();
});

test("the file can be read by its owner only, and outlives its process", async () => {
  const dataDir = nextPath();
  const first = await openApiKeyFile({ dataDir, log: silentLogger });
  const { key } = first.keys.create({ id: "ci-bot", roles: [] });
  await first.close();
  if (process.platform !== "win32") expect(statSync(apiKeyPath(dataDir)).mode & 0o077).toBe(0);
  const again = await openApiKeyFile({ dataDir, log: silentLogger });
  expect(again.keys.authenticate({ token: key, agentId: "a" })).toMatchObject({ id: "key:ci-bot" });
  await again.close();
});

test("a process that holds the lock of the file does not keep a host from accepting keys", async () => {
  const dataDir = nextPath();
  const host = await openApiKeyFile({ dataDir, log: silentLogger });
  const { key } = host.keys.create({ id: "ci-bot", roles: [] });
  // Until the turn of the host has ended.
  await vi.waitFor(async () => {
    const other = await openSqlite({ path: apiKeyPath(dataDir), migrations: ["-- as the host"], busyTimeoutMs: 0 });
    try {
      other.exec("BEGIN IMMEDIATE");
      expect(host.keys.authenticate({ token: key, agentId: "a" })).toMatchObject({ id: "key:ci-bot" });
      expect(host.keys.list()[0]?.lastUsedAt).toBeUndefined();
      other.exec("ROLLBACK");
    } finally {
      other.close();
    }
  });
  await host.close();
});
