import { expect, test, vi } from "vitest";
import { toHostConfig } from "../config/parsing.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { startConfiguredHost } from "./configured-host.ts";

vi.mock("../stores/sqlite/sqlite-database.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../stores/sqlite/sqlite-database.ts")>();
  return { ...original, createSqliteDatabase: vi.fn(original.createSqliteDatabase) };
});

const newFolder = useTemporaryFolder();

test.each([
  [{}, { durability: "process", syncIntervalMs: 100 }],
  [{ durability: "power" }, { durability: "power" }],
  [{ sync_interval_ms: 7 }, { durability: "process", syncIntervalMs: 7 }],
] as const)("a database is opened with the persistence settings of the config: %o", async (persistence, expected) => {
  const config = toHostConfig({ persistence, plugins: [] }, { baseDir: newFolder(), env: {} });
  const host = await startConfiguredHost(config);
  await host.close(0);
  expect(createSqliteDatabase).toHaveBeenLastCalledWith(expect.objectContaining(expected));
});
