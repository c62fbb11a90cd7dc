import { sha256 } from "@noble/hashes/sha2.js";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LogWriter } from "../audit/log-writer.ts";
import { createNoteSigner } from "../audit/note-key.ts";
import { TileFolder } from "../audit/tiles.ts";
import { testLine, testSigner, writeLog } from "../audit/written-log.suite.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { toBase64 } from "./base64.ts";
import { checkContinuation } from "./continuation.ts";

const newPath = useTemporaryFolder();

test("an agent accepts a log that continues its checkpoint", async () => {
  const path = newPath();
  const older = (await writeLog(path, 40)).signed.note;
  const writer = await writeLog(path, 300);
  const proof = writer.proveConsistency(40).map(toBase64);
  expect(checkContinuation(sha256, older, writer.signed.note, proof)).toMatchObject({
    isContinued: true,
    checkpoint: { size: 300 },
  });
  expect(checkContinuation(sha256, older, older, [])).toMatchObject({ isContinued: true });
});

test("an agent finds a log that was rolled back, rewritten or replaced", async () => {
  const path = newPath();
  const shorter = (await writeLog(path, 20)).signed.note;
  const older = (await writeLog(path, 40)).signed.note;
  const check = (note: string, proof: string[]) => checkContinuation(sha256, older, note, proof);
  expect(check(shorter, [])).toEqual({
    isContinued: false,
    reason: "the audit log of the host has 20 entries; it had 40: it was rolled back",
  });
  const rewritten = new LogWriter(new TileFolder(newPath()), testSigner);
  for (let index = 0; index < 50; index++) rewritten.append(Buffer.from(testLine(index === 3 ? 99 : index)));
  await rewritten.sign();
  const proof = rewritten.proveConsistency(40).map(toBase64);
  expect(check(rewritten.signed.note, proof)).toMatchObject({ reason: expect.stringContaining("rewritten") });
  expect(check(rewritten.signed.note, ["not base64"])).toMatchObject({ isContinued: false });
  const other = new LogWriter(new TileFolder(newPath()), createNoteSigner("other", Buffer.alloc(32)));
  await other.sign();
  expect(check(other.signed.note, [])).toMatchObject({ reason: expect.stringContaining("another audit log, other") });
});

test("any text from a host is refused without an exception", async () => {
  const older = (await writeLog(newPath(), 3)).signed.note;
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.array(fc.string()), (note, proof) => {
      expect(checkContinuation(sha256, older, note, proof).isContinued).toBe(false);
      expect(checkContinuation(sha256, note, older, proof).isContinued).toBe(false);
    }),
  );
});
