import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openCheckpoint } from "../proofs/checkpoint-text.ts";
import { isConsistent } from "../proofs/merkle.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { LogWriter } from "./log-writer.ts";
import { createNoteSigner } from "./note-key.ts";
import { formatBundle, parseBundle, TileFolder, tilePath } from "./tiles.ts";
import { sha256 } from "./tree.ts";
import { verifyLog } from "./verify.ts";
import { testLine, testSigner, writeLog } from "./written-log.suite.ts";

const newPath = useTemporaryFolder();

test("tiles have the paths of tlog-tiles", () => {
  expect(tilePath(0, 1_234_067, 256)).toBe("tile/0/x001/x234/067");
  expect(tilePath("entries", 0, 7)).toBe("tile/entries/000.p/7");
  expect(tilePath(2, 1000, 255)).toBe("tile/2/x001/000.p/255");
});

test("a log that is opened again continues with the same tree", async () => {
  const [path, whole] = [newPath(), newPath()];
  for (const size of [1, 255, 256, 257, 511, 512, 700]) await writeLog(path, size);
  const { signed } = await writeLog(whole, 700);
  expect((await writeLog(path, 700)).signed).toEqual(signed);
  expect(existsSync(join(path, tilePath(0, 1, 200)))).toBe(false);
});

test("each checkpoint is consistent with those before it", async () => {
  const path = newPath();
  const notes: string[] = [];
  for (const size of [1, 100, 256, 600]) {
    const writer = await writeLog(path, size);
    const newer = openCheckpoint(writer.signed.note, testSigner.verify);
    for (const note of notes) {
      const older = openCheckpoint(note, testSigner.verify);
      if (older === undefined || newer === undefined) throw new Error("not signed");
      expect(isConsistent(sha256, older, newer, writer.proveConsistency(older.size))).toBe(true);
    }
    notes.push(writer.signed.note);
  }
});

test("entries that were appended while a checkpoint is written belong to the next", async () => {
  const path = newPath();
  const writer = await writeLog(path, 200);
  writer.append(Buffer.from(testLine(200)));
  const signing = writer.sign();
  await Promise.resolve();
  for (let index = 201; index < 300; index++) writer.append(Buffer.from(testLine(index)));
  await signing;
  expect(writer.signed.size).toBe(201);
  await writer.sign();
  expect(writer.signed.size).toBe(300);
  expect(writer.pendingBytes).toBe(0);
  expect(verifyLog(path, testSigner.verify)).toMatchObject({ size: 300, lines: 300 });
});

test("tiles that were written without their checkpoint are written again", async () => {
  const path = newPath();
  await writeLog(path, 250);
  const checkpoint = readFileSync(join(path, "checkpoint"));
  const crashed = new LogWriter(new TileFolder(path), testSigner);
  for (let index = 0; index < 300; index++) crashed.append(Buffer.from("lost\n"));
  await crashed.sign();
  // As if the process had ended before the checkpoint.
  writeFileSync(join(path, "checkpoint"), checkpoint);
  await (await writeLog(path, 250)).sign();
  await writeLog(path, 600);
  expect(verifyLog(path, testSigner.verify)).toMatchObject({ size: 600, lines: 600 });
});

test("a writer that cannot write keeps its entries, and writes them later", async () => {
  const path = newPath();
  const folder = new TileFolder(path);
  const writer = new LogWriter(folder, testSigner);
  const { write } = folder;
  folder.write = () => Promise.reject(new Error("disk full"));
  writer.append(Buffer.from(testLine(0)));
  await expect(writer.sign()).rejects.toThrow("disk full");
  expect(writer.signed.size).toBe(0);
  expect(writer.pendingBytes).toBeGreaterThan(0);
  folder.write = write;
  await writer.sign();
  expect(verifyLog(path, testSigner.verify)).toMatchObject({ size: 1 });
});

test("a log with another key, or with a damaged end, is not continued", async () => {
  const path = newPath();
  await writeLog(path, 20);
  const other = createNoteSigner(testSigner.name, Buffer.alloc(32));
  expect(() => new LogWriter(new TileFolder(path), other)).toThrow("not signed with the key of this log");
  const file = join(path, tilePath("entries", 0, 20));
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.toString("utf8").replace("r-7", "r-8"));
  expect(() => new LogWriter(new TileFolder(path), testSigner)).toThrow("a2e audit verify");
});

test("hostile entries come out of a bundle as they went in, up to 65,535 bytes", () => {
  const hostile = ["", "\n\n", "\u2028\u2029\u001e\0", "x".repeat(65_535), "\u2014 sig\n"].map((text) =>
    Buffer.from(text),
  );
  const { entries, isWhole } = parseBundle(formatBundle(hostile));
  expect(isWhole).toBe(true);
  expect(entries.map((entry) => Buffer.from(entry))).toEqual(hostile);
  expect(() => formatBundle([Buffer.alloc(65_536)])).toThrow("a bundle takes 65535");
});
