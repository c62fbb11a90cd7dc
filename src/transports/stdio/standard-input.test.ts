import { spawn } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";

const args = ["--import", "tsx", fileURLToPath(new URL("./input-child.suite.ts", import.meta.url))];
const letters = "aé€😀";
const newPath = useTemporaryFolder();

test("a pipe is read as text, wherever it is cut", async () => {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const next = linesOf(child.stdout);
  expect(await next()).toBe("ready");
  let seen = "";
  for (const letter of letters) {
    const bytes = Buffer.from(letter);
    for (const byte of bytes) child.stdin.write(Buffer.of(byte));
    while (!seen.endsWith(letter)) seen += ((await next()) as { text: string }).text;
  }
  expect(seen).toBe(letters);
  const long = "more than one buffer takes: ".padEnd(200_000, "é");
  child.stdin.write(long);
  child.stdin.end(Buffer.from("€").subarray(0, 2));
  seen = "";
  let last = await next();
  for (; last !== "end"; last = await next()) seen += (last as { text: string }).text;
  expect(seen).toBe(`${long}\ufffd`);
});

test("a file is read as well", async () => {
  const path = newPath();
  writeFileSync(path, letters);
  const file = openSync(path, "r");
  const child = spawn(process.execPath, args, { stdio: [file, "pipe", "inherit"] });
  closeSync(file);
  const next = linesOf(child.stdout as Readable);
  expect([await next(), await next(), await next()]).toEqual(["ready", { text: letters }, "end"]);
});

/** Reads a stream of JSON lines, one per call. */
function linesOf(stream: Readable): () => Promise<unknown> {
  const lines = createInterface({ input: stream })[Symbol.asyncIterator]();
  return async () => JSON.parse((await lines.next()).value);
}
