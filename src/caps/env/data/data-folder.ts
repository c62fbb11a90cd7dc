// Files below one folder, under paths that agents choose. Nothing here follows a symbolic link: only the host writes to
// the folder, so a link in it could only have been placed to lead out.
import { createHash } from "node:crypto";
import { constants, createWriteStream } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { env } from "../protocol.ts";

const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

export interface StagedFile {
  /** Path below the folder, with slashes. */
  readonly dest: string;
  readonly size_bytes: number;
}

/** Splits a path from an agent into segments. Throws if it leads out of the folder. */
export function toSegments(path: string): string[] {
  if (path.includes("\0")) throw env.error("forbidden", "a path cannot contain a NUL character");
  if (path.length > 1000) throw env.error("forbidden", "the path is too long");
  // A lone surrogate is not valid Unicode and would become a different name on the disk.
  if (/\p{Surrogate}/u.test(path)) throw env.error("forbidden", "the path is not valid Unicode");
  const segments = path.split(/[\\/]/).filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) throw env.error("forbidden", `"${path}" leads out of the data root`);
  return segments;
}

/** All regular files below the folder, sorted; an empty list if the folder does not exist. */
export async function listFiles(folder: string): Promise<StagedFile[]> {
  const found: StagedFile[] = [];
  const open = [""];
  for (let prefix = open.pop(); prefix !== undefined; prefix = open.pop()) {
    const entries = await readdir(join(folder, prefix), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const dest = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
      if (entry.isDirectory()) open.push(dest);
      else if (entry.isFile()) {
        const known = await lstat(join(folder, dest)).catch(() => undefined);
        if (known !== undefined) found.push({ dest, size_bytes: known.size });
      }
    }
  }
  return found.sort((one, other) => (one.dest < other.dest ? -1 : 1));
}

export async function checksumOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    for await (const bytes of file.createReadStream({ autoClose: false, signal })) hash.update(bytes as Buffer);
  } finally {
    await file.close();
  }
  return `sha256:${hash.digest("hex")}`;
}

export async function readContent(path: string): Promise<{ content: string; encoding: "utf-8" | "base64" }> {
  const bytes = await readFile(path, { flag: O_RDONLY | O_NOFOLLOW | O_NONBLOCK });
  const content = bytes.toString("utf8");
  // Bytes that change when decoded and encoded again are not UTF-8 text.
  return Buffer.from(content, "utf8").equals(bytes)
    ? { content, encoding: "utf-8" }
    : { content: bytes.toString("base64"), encoding: "base64" };
}

export interface Staging {
  /** Copied from its beginning, at most `size` bytes: it may grow during the copy. */
  readonly file: FileHandle;
  readonly size: number;
  readonly folder: string;
  readonly segments: readonly string[];
  /** The path of the copy until it is complete, outside of every data root. */
  readonly partial: string;
  readonly signal: AbortSignal;
  /** Called with the complete copy before it is moved into place; if it throws, the copy is removed. */
  verify?(path: string): Promise<void>;
}

/** Copies an open file to its place, completely or not at all. */
export async function stageFile({ file, size, folder, segments, partial, signal, verify }: Staging): Promise<void> {
  const target = join(folder, ...segments);
  await assertPlainPath(folder, segments);
  await mkdir(dirname(target), { recursive: true });
  await mkdir(dirname(partial), { recursive: true });
  try {
    const bytes = size === 0 ? [] : file.createReadStream({ autoClose: false, start: 0, end: size - 1 });
    await pipeline(bytes, createWriteStream(partial), { signal });
    const copied = (await lstat(partial)).size;
    if (copied !== size) throw new Error(`the file changed while it was copied: ${copied} of ${size} bytes`);
    await verify?.(partial);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Rejects a path that crosses anything but folders, for example a symbolic link. */
async function assertPlainPath(folder: string, segments: readonly string[]): Promise<void> {
  let path = folder;
  for (const [at, segment] of segments.entries()) {
    path = join(path, segment);
    const entry = await lstat(path).catch(() => undefined);
    if (entry === undefined) return;
    const isFine = at === segments.length - 1 ? entry.isFile() : entry.isDirectory();
    if (!isFine) throw new Error(`"${segments.join("/")}" cannot be written: "${segment}" is in the way`);
  }
}

/** Opens a regular file within one of these folders for reading. Throws if it is in none of them. */
export async function openSource(src: string, folders: readonly string[]): Promise<{ file: FileHandle; name: string }> {
  if (src.includes("\0")) throw new Error("a path cannot contain a NUL character");
  const shown = src.length > 200 ? `${src.slice(0, 200)}…` : src;
  for (const folder of folders) {
    const root = await realpath(folder).catch(() => undefined);
    const path = await realpath(resolve(folder, src)).catch(() => undefined);
    if (root === undefined || path === undefined || !path.startsWith(root + sep)) continue;
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    // A folder may have been replaced by a link since `realpath`: check the file that was opened.
    const opened = await realpath(`/proc/self/fd/${file.fd}`).catch(() => path);
    if (opened.startsWith(root + sep) && (await file.stat()).isFile()) return { file, name: basename(path) };
    await file.close();
    throw new Error(`"${shown}" is not a regular file`);
  }
  // The same error whether or not the file exists: agents must not learn about files outside of the folders.
  throw new Error(`"${shown}" is not in a folder that this host stages from`);
}
