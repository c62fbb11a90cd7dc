import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import type { AuditEntry } from "../../host/ports/audit.ts";
import { fullDevice, testWith } from "../../testing/needs.suite.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { type AuditFileOptions, createAuditFile } from "./audit-file.ts";

const newPlace = useTemporaryFolder();

function entryOf(number: number): AuditEntry {
  return {
    ts: 1_700_000_000_000 + number,
    session_id: `session-${number % 7}`,
    principal: "token",
    chain: [],
    agent_id: "an agent",
    type: "tools/call/req",
    capability: "tools",
    req_id: String(number),
    n: number + 1,
    correlation_id: "",
    success: number % 2 === 0,
    error_code: number % 2 === 0 ? "" : "timeout",
    duration_ms: 0.25,
    bytes_in: 1,
    bytes_out: 2,
    nested_calls: 3,
    rule: "",
  };
}

function startAudit(options: Partial<AuditFileOptions> = {}) {
  const path = join(newPlace(), "logs", "audit.log");
  const warn = vi.fn();
  const audit = createAuditFile({ path, log: { warn }, flushMs: 5, ...options });
  /** The numbers of all entries in the files, oldest first; every line must be a whole entry. */
  const numbers = () => {
    if (!existsSync(dirname(path))) return [];
    const backups = readdirSync(dirname(path)).length - 1;
    const paths = Array.from({ length: backups }, (_, index) => `${path}.${backups - index}`);
    const lines = [...paths, path].flatMap((each) => (existsSync(each) ? readFileSync(each, "utf8") : "").split("\n"));
    return lines.filter(Boolean).map((line) => {
      const { req_id, ts } = JSON.parse(line) as AuditEntry;
      const entry = entryOf(Number(req_id));
      expect(JSON.parse(line)).toEqual({ ...entry, ts: entry.ts / 1000 });
      return Math.round(ts * 1000) - entryOf(0).ts;
    });
  };
  return { path, audit, warn, numbers };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

test("close writes all that was recorded, closing twice is closing once, and later entries are ignored", async () => {
  const { audit, numbers, warn } = startAudit({ flushMs: 60_000 });
  for (const number of upTo(1000)) audit.record(entryOf(number));
  await Promise.all([audit.close(), audit.close()]);
  await audit.close();
  audit.record(entryOf(1000));

  expect(numbers()).toEqual(upTo(1000));
  expect(warn).not.toHaveBeenCalled();
});

test("an entry is written without closing, soon after it was recorded", async () => {
  const { audit, numbers } = startAudit();
  audit.record(entryOf(0));

  await vi.waitFor(() => expect(numbers()).toEqual([0]));
  await audit.close();
});

test("recording an entry writes nothing before it returns, and does not hold on to the entry", async () => {
  const { audit, path, numbers } = startAudit();
  const entry = entryOf(3);
  audit.record(entry);
  Object.assign(entry, { req_id: "changed", type: "changed" });

  expect(existsSync(path)).toBe(false);
  await audit.close();
  expect(numbers()).toEqual([3]);
});

test("an audit file that was never used makes no file", async () => {
  const { audit, path } = startAudit();
  await audit.close();

  expect(existsSync(dirname(path))).toBe(false);
});

test("entries recorded while files rotate are all there, whole and in order", async () => {
  const { audit, numbers, warn } = startAudit({ maxBytes: 20_000, maxBackups: 60, flushMs: 1 });
  for (const number of upTo(4000)) {
    audit.record(entryOf(number));
    if (number % 50 === 0) await nextTurn();
  }
  await audit.close();

  expect(numbers()).toEqual(upTo(4000));
  expect(warn).not.toHaveBeenCalled();
});

test("no more backups are kept than asked for, and they hold the newest entries", async () => {
  const { audit, numbers, path } = startAudit({ maxBytes: 1000, maxBackups: 2 });
  for (const number of upTo(100)) audit.record(entryOf(number));
  await audit.close();

  expect(readdirSync(dirname(path)).sort()).toEqual(["audit.log", "audit.log.1", "audit.log.2"]);
  const kept = numbers();
  expect(kept).toEqual(upTo(100).slice(-kept.length));
});

test("a removed folder is reported once, made again, and its end reported once", async () => {
  const { audit, numbers, path, warn } = startAudit();
  audit.record(entryOf(0));
  await vi.waitFor(() => expect(numbers()).toEqual([0]));
  rmSync(dirname(path), { recursive: true });
  audit.record(entryOf(1));

  await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(2));
  audit.record(entryOf(2));
  await audit.close();
  expect(numbers()).toEqual([1, 2]);
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining("cannot be written"), { path, cause: expect.objectContaining({ code: "ENOENT" }) }],
    [expect.stringContaining("written again"), { path, lost: 0 }],
  ]);
});

testWith(fullDevice)(
  "a full disk is reported once; buffered entries are written when there is room again",
  async () => {
    const { audit, numbers, path, warn } = startAudit({ maxPendingBytes: 2000 });
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync("/dev/full", path);
    for (const number of upTo(500)) {
      audit.record(entryOf(number));
      await nextTurn();
    }
    // The machine may have other things to do.
    await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce());
    rmSync(path);
    await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(2));
    audit.record(entryOf(500));
    await audit.close();

    const written = numbers();
    expect(written.slice(0, -1)).toEqual(upTo(written.length - 1));
    expect(written.at(-1)).toBe(500);
    expect(warn).toHaveBeenLastCalledWith(expect.stringContaining("written again"), {
      path,
      lost: 501 - written.length,
    });
  },
);

test("a path that can never be written fails no call, and closing logs how many entries are lost", async () => {
  const { audit, path, warn } = startAudit();
  mkdirSync(dirname(dirname(path)), { recursive: true });
  writeFileSync(dirname(path), "a file where the folder should be");
  for (const number of upTo(10)) audit.record(entryOf(number));
  await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce());
  for (const number of upTo(10)) audit.record(entryOf(number));
  await audit.close();

  expect(warn).toHaveBeenCalledTimes(2);
  expect(warn).toHaveBeenLastCalledWith(expect.stringContaining("closed"), { path, lost: 20 });
});

test("entries beyond the buffer are dropped, counted and reported once", async () => {
  const { audit, numbers, path, warn } = startAudit({ maxPendingBytes: 10_000 });
  // All in the same turn of the event loop, during which nothing can be written.
  for (const number of upTo(1000)) audit.record(entryOf(number));
  await audit.close();

  const written = numbers();
  expect(written.length).toBeGreaterThan(10);
  expect(written).toEqual(upTo(written.length));
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining("dropped"), { path }],
    [expect.stringContaining("written again"), { path, lost: 1000 - written.length }],
  ]);
});

test("entries dropped during the last write are logged, even if no entry follows", async () => {
  const { audit, numbers, path, warn } = startAudit({ maxPendingBytes: 1, flushMs: 1 });
  let dropped = 0;
  audit.record(entryOf(0));
  // Until it is written, and the file is there.
  while (!existsSync(path)) {
    await nextTurn();
    audit.record(entryOf(1));
    dropped += 1;
  }
  await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(2));
  expect(warn).toHaveBeenLastCalledWith(expect.stringContaining("written again"), { path, lost: dropped });
  expect(numbers()).toEqual([0]);
  await audit.close();
});

test("a buffered entry does not keep the process alive", async () => {
  const { audit } = startAudit({ flushMs: 60_000 });
  const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  audit.record(entryOf(0));

  // Unreferenced timers are not listed.
  expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBe(before);
  await audit.close();
});
