import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, createReadStream, openSync, readFileSync, readSync } from "node:fs";
import { Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { linux, testWith } from "../../testing/needs.suite.ts";
import { openNamedPipes } from "./named-pipes.ts";
import { createPipeWriter } from "./pipe-writer.ts";

const command = [
  process.execPath,
  "--import",
  "tsx",
  fileURLToPath(new URL("./pipe-writer-child.suite.ts", import.meta.url)),
] as const;
const everything = Array.from({ length: 200 }, (_, number) => `${number} ${"é€😀".repeat(6_000 - 30 * number)}\n`).join(
  "",
);
const newPath = useTemporaryFolder();

test.each([
  ["a socket, as Node gives to its children", command],
  ["a pipe, as a shell makes it", ["sh", "-c", '"$@" | cat', "sh", ...command]],
] as const)(
  "%s whose reader is slow does not block the writer, and receives every line whole and in order",
  async (_, [file, ...args]) => {
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
    expect(await said(child)).toBe("all written\n");
    expect((await text(child.stdout)) === everything).toBe(true);
  },
);

test("a closed reader is reported in the same way as by the stream", async () => {
  const child = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  expect(await text(child.stderr)).toContain("failed with EPIPE");
});

test("a file is written as well", async () => {
  const path = newPath();
  const file = openSync(path, "w");
  const child = spawn(command[0], command.slice(1), { stdio: ["ignore", file, "pipe"] });
  closeSync(file);
  expect(await said(child)).toBe("all written\n");
  expect(readFileSync(path, "utf8") === everything).toBe(true);
});

testWith(linux)("text buffered in the stream is written first", async () => {
  const [pipe] = (await openNamedPipes(1)) ?? [];
  if (pipe === undefined) throw new Error("this system makes no named pipes");
  const stream = new Socket({ fd: pipe.writeEnd, readable: false, writable: true });
  const write = createPipeWriter(stream, pipe.writeEnd);
  const said: string[] = [];
  const say = (line: string) => {
    said.push(line);
    return write(line);
  };
  while (stream.writableLength === 0) say("é".repeat(10_000));
  // Now the pipe has room again, but the stream has not noticed yet.
  const heard = [read(pipe.readEnd)];
  say("last");
  const isOver = new Promise<void>((resolve) => stream.end(resolve));
  heard.push(await buffer(createReadStream("", { fd: pipe.readEnd })));
  await isOver;
  expect(Buffer.concat(heard).toString() === said.join("")).toBe(true);
});

function read(fd: number): Buffer {
  const bytes = Buffer.alloc(1024 * 1024);
  return bytes.subarray(0, readSync(fd, bytes));
}

/** The first words of a child. */
function said(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.stderr?.setEncoding("utf8").once("data", resolve));
}
