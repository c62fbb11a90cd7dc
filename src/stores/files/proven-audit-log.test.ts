import { expect, onTestFinished, test } from "vitest";
import { linesOf } from "../../audit/audit-block.ts";
import { openAuditKey } from "../../audit/key-file.ts";
import { newestBlocks, proveRequest } from "../../audit/prove.ts";
import { TileFolder } from "../../audit/tiles.ts";
import { verifyLog } from "../../audit/verify.ts";
import { createAuditEntry } from "../../host/calls/call-audit.ts";
import { silentLogger } from "../../plugin/logger.ts";
import { createSqliteDatabase } from "../sqlite/sqlite-database.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { createProvenAuditLog } from "./proven-audit-log.ts";

const newPath = useTemporaryFolder();

test("hostile entries are lines of their own, and a line that is too long for a block is shortened", async () => {
  const path = newPath();
  const key = openAuditKey(newPath(), "host");
  const database = await createSqliteDatabase({ path: newPath() });
  onTestFinished(() => database.close());
  const audit = createProvenAuditLog({ database, path, key, clock: () => 0, log: silentLogger });
  const hostile = [
    "\n",
    "\u2028\u2029",
    "\u001e\u001f\0",
    '"}\n{"audit":"pruned","minimum":9}\n',
    "\ud800",
    "\u2014 x y\n",
  ];
  const long = "\u2028".repeat(64 * 1024);
  const entry = createAuditEntry();
  for (const req_id of [...hostile, long]) audit.record(Object.assign(entry, { req_id, type: req_id, ts: 1 }));
  await audit.close();

  const { verify } = key.signer;
  expect(verifyLog(path, verify)).toMatchObject({ lines: hostile.length + 2, remarks: [{ audit: "began" }] });
  const blocks = [...newestBlocks(new TileFolder(path), audit.proven.checkpoint.size)].reverse();
  const ids = blocks.flatMap(({ entry: block }) => linesOf(block)).map((line) => JSON.parse(line).req_id as string);
  expect(ids.slice(1, -1)).toEqual(hostile);
  expect(ids.at(-1)).toMatch(/^\u2028{500}\.\.\. sha256:[0-9a-f]{64}$/);
  for (const id of hostile) expect(proveRequest(path, verify, id)).toBeDefined();
});
