import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { formatRemark } from "./audit-block.ts";
import { LogWriter } from "./log-writer.ts";
import { createNoteSigner } from "./note-key.ts";
import { formatBundle, TileFolder, tilePath } from "./tiles.ts";
import { verifyLog } from "./verify.ts";
import { testLine, testSigner, writeLog } from "./written-log.suite.ts";

const newPath = useTemporaryFolder();
const { verify } = testSigner;

function filesIn(path: string): string[] {
  return (readdirSync(path, { recursive: true }) as string[]).filter((name) => statSync(join(path, name)).isFile());
}

test("an undamaged log is verified whole, and without an older checkpoint it is not anchored", async () => {
  const path = newPath();
  await writeLog(path, 700, [3, 256, 600]);
  expect(verifyLog(path, verify)).toEqual({ size: 700, lines: 700, minimum: 0, remarks: [] });
});

test("a log that continues an older checkpoint is anchored there", async () => {
  const path = newPath();
  const anchors: string[] = [];
  for (const size of [3, 256, 600]) anchors.push((await writeLog(path, size)).signed.note);
  await writeLog(path, 700);
  expect(verifyLog(path, verify, anchors)).toMatchObject({ anchoredAt: 600, size: 700 });
  expect(verifyLog(path, verify, anchors)).not.toHaveProperty("damage");
});

test("a flipped byte in any file is found, and named if it belongs to an entry", async () => {
  const path = newPath();
  await writeLog(path, 260, [5, 257, 258]);
  for (const name of filesIn(path)) {
    const bytes = readFileSync(join(path, name));
    const step = Math.max(1, Math.floor(bytes.length / 40));
    for (let at = 0; at < bytes.length; at += step) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      writeFileSync(join(path, name), changed);
      const { damage } = verifyLog(path, verify);
      expect(damage, `${name}, byte ${at}`).toBeDefined();
      if (name !== "checkpoint") expect(damage?.index, `${name}, byte ${at}`).toBeTypeOf("number");
    }
    writeFileSync(join(path, name), bytes);
  }
  expect(verifyLog(path, verify)).not.toHaveProperty("damage");
});

test("the first damaged entry is named by its index, and by the time of the entry before it", async () => {
  const path = newPath();
  await writeLog(path, 300);
  const file = join(path, tilePath("entries", 1, 44));
  writeFileSync(file, readFileSync(file, "utf8").replace("r-270", "r-999"));
  const { damage, size } = verifyLog(path, verify);
  expect(damage).toEqual({
    index: 270,
    time: (1_700_000_000 + 269) * 1000,
    what: "entry 270 in tile/entries/001.p/44 does not match its hash in tile/0/001.p/44",
  });
  expect(size).toBe(270);
});

test("swapped entries are found, even if the hashes above them were computed again", async () => {
  const path = newPath();
  await writeLog(path, 10);
  const entries: Uint8Array[] = Array.from({ length: 10 }, (_, index) => Buffer.from(testLine(index)));
  [entries[3], entries[4]] = [entries[4] as Uint8Array, entries[3] as Uint8Array];
  writeFileSync(join(path, tilePath("entries", 0, 10)), formatBundle(entries));
  expect(verifyLog(path, verify).damage).toMatchObject({ index: 3 });

  const checkpoint = readFileSync(join(path, "checkpoint"));
  const forged = newPath();
  const forger = new LogWriter(new TileFolder(forged), createNoteSigner(testSigner.name, Buffer.alloc(32)));
  for (const entry of entries) forger.append(entry);
  await forger.sign();
  expect(verifyLog(forged, verify).damage?.what).toContain("not signed with the key");
  writeFileSync(join(forged, "checkpoint"), checkpoint);
  expect(verifyLog(forged, verify).damage?.what).toContain("not the signed checkpoint");
});

test("an older copy of the log is found with a newer checkpoint, and passes without one", async () => {
  const path = newPath();
  const older = newPath();
  await writeLog(path, 20);
  cpSync(path, older, { recursive: true });
  const anchor = (await writeLog(path, 25)).signed.note;
  expect(verifyLog(older, verify)).toMatchObject({ size: 20 });
  expect(verifyLog(older, verify)).not.toHaveProperty("anchoredAt");
  expect(verifyLog(older, verify, [anchor]).damage).toEqual({
    index: 20,
    what: "the log ends after 20 entries, but 25 were signed: the last 5 are missing",
  });
});

test("the owner of the key cannot rewrite what an older checkpoint has", async () => {
  const path = newPath();
  const anchor = (await writeLog(path, 20)).signed.note;
  const rewritten = newPath();
  const writer = new LogWriter(new TileFolder(rewritten), testSigner);
  for (let index = 0; index < 30; index++) writer.append(Buffer.from(testLine(index === 7 ? 999 : index)));
  await writer.sign();
  expect(verifyLog(rewritten, verify)).not.toHaveProperty("damage");
  expect(verifyLog(rewritten, verify, [anchor]).damage?.what).toContain("the log was rewritten");
});

test("missing files and a missing folder are damage, not an error", async () => {
  const path = newPath();
  const anchor = (await writeLog(path, 300)).signed.note;
  for (const name of filesIn(path)) {
    const bytes = readFileSync(join(path, name));
    rmSync(join(path, name));
    expect(verifyLog(path, verify, [anchor]).damage, name).toBeDefined();
    writeFileSync(join(path, name), bytes);
  }
  expect(verifyLog(newPath(), verify, [anchor]).damage).toEqual({ what: "the checkpoint of the log is missing" });
});

test("a pruned log is verified, and its older checkpoints stay valid", async () => {
  const path = newPath();
  const anchor = (await writeLog(path, 100)).signed.note;
  const writer = await writeLog(path, 600);
  writer.append(Buffer.from(formatRemark({ audit: "pruned", ts: 1, minimum: 512 })));
  await writer.sign();
  await writer.prune(512);
  const report = verifyLog(path, verify, [anchor]);
  expect(report).toMatchObject({ size: 601, lines: 89, minimum: 512, anchoredAt: 100 });
  expect(report).not.toHaveProperty("damage");
  await writeLog(path, 900);
  expect(verifyLog(path, verify, [anchor])).not.toHaveProperty("damage");
});

test("entries that were deleted without a remark in the log are missing, whatever the file with the minimum says", async () => {
  const path = newPath();
  const writer = await writeLog(path, 600);
  await writer.prune(512);
  expect(verifyLog(path, verify).damage?.what).toContain("does not say that they were pruned");
});

test("a checkpoint of another log or another key is refused as an anchor", async () => {
  const path = newPath();
  await writeLog(path, 3);
  expect(verifyLog(path, verify, ["nonsense"]).damage?.what).toContain("the given checkpoint is not signed");
  const other = createNoteSigner("other", Buffer.alloc(32, 1));
  const both = (text: string, signature: Parameters<typeof verify>[1]) =>
    verify(text, signature) || other.verify(text, signature);
  const foreign = new LogWriter(new TileFolder(newPath()), other);
  await foreign.sign();
  expect(verifyLog(path, both, [foreign.signed.note]).damage?.what).toContain("of another log, other");
});
