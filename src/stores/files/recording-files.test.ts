import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCapturedLog } from "../../testing/captured-log.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { createRecordingFiles } from "./recording-files.ts";

const nextFolder = useTemporaryFolder();

test("a recording is a file of its own that only its owner reads, not named after the session", async () => {
  const folder = nextFolder();
  const recordings = createRecordingFiles({ folder, log: createCapturedLog() });
  const one = recordings.create("secret-session");
  const other = recordings.create("secret-session");
  one.write("a\n");
  other.write("b\n");
  one.write("c\n");
  expect(await one.read()).toBe("a\nc\n");
  one.write("d\n");
  await recordings.close();
  const names = readdirSync(folder).sort();
  expect(names.map((name) => readFileSync(join(folder, name), "utf8"))).toEqual(["a\nc\nd\n", "b\n"]);
  expect(names.join()).not.toContain("secret");
  expect(statSync(join(folder, names[0] as string)).mode & 0o077).toBe(0);
});

test("lines written after the end of a recording are ignored", async () => {
  const recordings = createRecordingFiles({ folder: nextFolder(), log: createCapturedLog() });
  const file = recordings.create("session");
  file.write("a\n");
  file.close();
  file.write("b\n");
  expect(await file.read()).toBe("a\n");
  await recordings.close();
});

test("the oldest recordings are removed, and files that are not recordings are left alone", async () => {
  const folder = nextFolder();
  mkdirSync(folder);
  for (const day of ["01", "02", "03"]) writeFileSync(join(folder, `2020-01-${day}.a2e-recording.ndjson`), "");
  writeFileSync(join(folder, "1999.txt"), "");
  const recordings = createRecordingFiles({ folder, log: createCapturedLog(), maxFiles: 2 });
  recordings.create("session").write("a\n");
  await recordings.close();
  expect(readdirSync(folder).sort().slice(0, 2)).toEqual(["1999.txt", expect.stringMatching(/^2020-01-0[23]/)]);
});

test("a recording that cannot be written is abandoned with a single warning", async () => {
  const folder = nextFolder();
  writeFileSync(folder, "in the way");
  const log = createCapturedLog();
  const recordings = createRecordingFiles({ folder: join(folder, "below"), log, maxFiles: 5 });
  const file = recordings.create("session");
  file.write("a\n");
  expect(await file.read()).toBeUndefined();
  file.write("b\n");
  await recordings.close();
  expect(log.entries.filter(({ message }) => message.includes("recorded"))).toHaveLength(1);
});

test("more than may wait ends the recording and not the session", async () => {
  const log = createCapturedLog();
  const recordings = createRecordingFiles({ folder: nextFolder(), log, maxPendingLength: 3 });
  const file = recordings.create("session");
  file.write("aa\n");
  file.write("bb\n");
  expect(await file.read()).toBeUndefined();
  await recordings.close();
  expect(log.entries.map(({ message }) => message)).toContain("a session sends lines faster than they can be recorded");
});
