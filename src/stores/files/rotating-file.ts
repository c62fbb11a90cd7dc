// A file of lines that is moved aside when it is full: path -> path.1 -> … -> path.N, and the oldest is dropped.
import { type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

export interface RotatingFileOptions {
  path: string;
  /** No file grows beyond it, unless a single line is longer: lines are never split. */
  maxBytes: number;
  maxBackups: number;
}

/** For a single writer: calls of `append` must not overlap, and no other process may write the file. */
export interface RotatingFile {
  /**
   * Appends whole lines, in a single write if they fit into the current file; a line lies within one buffer. Never
   * rejects: `written` is the number of bytes, always whole lines, that are in the files, and `cause` is why the rest
   * is not. A file that was removed or replaced in the meantime is detected and created again.
   */
  append(buffers: readonly Buffer[]): Promise<{ written: number; cause?: unknown }>;
  close(): Promise<void>;
}

const newline = 10;

export function createRotatingFile({ path, maxBytes, maxBackups }: RotatingFileOptions): RotatingFile {
  // At the start, and after a failure, the folder may be missing and the file may end in half a line.
  let isSound = false;
  let held: { file: FileHandle; ino: number; dev: number } | undefined;

  /** The file that is at the path now, with its size. */
  async function current(): Promise<{ file: FileHandle; size: number }> {
    if (held !== undefined) {
      const there = await stat(path).catch(() => undefined);
      if (there?.ino === held.ino && there.dev === held.dev) return { file: held.file, size: there.size };
      await release();
    }
    const file = await open(path, "a+", 0o600);
    const { ino, dev, size } = await file.stat();
    held = { file, ino, dev };
    return { file, size };
  }

  async function release(): Promise<void> {
    const file = held?.file;
    held = undefined;
    await file?.close();
  }

  async function appendWhatFits(buffers: readonly Buffer[]): Promise<number> {
    let { file, size } = await current();
    if (!isSound && (await endsTorn(file, size))) size += (await file.write("\n")).bytesWritten;
    isSound = true;
    const fitting = whatFits(buffers, maxBytes - size, size === 0);
    await writeWhole(file, fitting, size);
    return byteLength(fitting);
  }

  async function rotate(): Promise<void> {
    await release();
    if (maxBackups === 0) return rm(path, { force: true });
    for (let index = maxBackups; index > 0; index--) {
      await renameIfThere(index === 1 ? path : `${path}.${index - 1}`, `${path}.${index}`);
    }
  }

  return {
    async append(buffers) {
      let written = 0;
      try {
        let rest = withoutStart(buffers, 0);
        if (!isSound && rest.length > 0) await mkdir(dirname(path), { recursive: true });
        while (rest.length > 0) {
          const length = await appendWhatFits(rest);
          if (length === 0) await rotate();
          written += length;
          rest = withoutStart(rest, length);
        }
        return { written };
      } catch (cause) {
        isSound = false;
        await release().catch(() => {});
        return { written, cause };
      }
    },
    close: release,
  };
}

/** As many whole lines as there is room for; into an empty file at least one line. */
function whatFits(buffers: readonly Buffer[], room: number, isEmpty: boolean): Buffer[] {
  const fitting: Buffer[] = [];
  let left = room;
  for (const lines of buffers) {
    const length = lengthThatFits(lines, left, isEmpty && fitting.length === 0);
    if (length > 0) fitting.push(lines.subarray(0, length));
    if (length < lines.length) break;
    left -= length;
  }
  return fitting;
}

function lengthThatFits(lines: Buffer, room: number, isEmpty: boolean): number {
  if (lines.length <= room) return lines.length;
  const fitting = room > 0 ? lines.lastIndexOf(newline, room - 1) + 1 : 0;
  return fitting === 0 && isEmpty ? lines.indexOf(newline) + 1 : fitting;
}

function byteLength(buffers: readonly Buffer[]): number {
  return buffers.reduce((sum, { length }) => sum + length, 0);
}

/** The buffers without the first `length` bytes, and without empty buffers. */
export function withoutStart(buffers: readonly Buffer[], length: number): Buffer[] {
  const rest: Buffer[] = [];
  let left = length;
  for (const buffer of buffers) {
    if (left < buffer.length) rest.push(left === 0 ? buffer : buffer.subarray(left));
    left = Math.max(0, left - buffer.length);
  }
  return rest;
}

/** All or nothing: the part of the lines that a full disk accepted is cut off again. */
async function writeWhole(file: FileHandle, buffers: readonly Buffer[], sizeBefore: number): Promise<void> {
  try {
    for (let rest = buffers; rest.length > 0; ) rest = withoutStart(rest, (await file.writev(rest)).bytesWritten);
  } catch (cause) {
    // If the truncation fails too, the torn end is closed with a newline later.
    await file.truncate(sizeBefore).catch(() => {});
    throw cause;
  }
}

async function endsTorn(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== newline;
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
