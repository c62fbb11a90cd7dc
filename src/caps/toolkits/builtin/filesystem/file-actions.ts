// The tools of the filesystem toolkit, each confined to its root.
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { toReadableError } from "../../../../machinery/confinement/workspace.ts";
import type { JsonObject } from "../../../../protocol/json.ts";
import { toolkitOutput } from "../../define-toolkit.ts";
import { toolkitLimits } from "../../limits.ts";
import type { ConfinedPlace } from "../allowed-folders.ts";

type Encoding = "utf8" | "base64";

export async function listFolder(place: ConfinedPlace, path: string) {
  const segments = await place.resolve(path);
  const folder = await place.openFolder(segments);
  try {
    const found = (await readdir(folder.path, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
    const entries: JsonObject[] = [];
    for (const entry of found.slice(0, toolkitLimits.maxEntries)) {
      const type = entry.isFile() ? "file" : entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "other";
      const size =
        type === "file" ? (await lstat(`${folder.path}/${entry.name}`).catch(() => undefined))?.size : undefined;
      entries.push({ name: entry.name, type, ...(size === undefined ? {} : { size_bytes: size }) });
    }
    const data = { path: segments.join("/") || ".", entries };
    return toolkitOutput({ data, truncated: found.length > entries.length });
  } finally {
    await folder.close();
  }
}

export async function readPart(
  place: ConfinedPlace,
  { path, encoding, offset }: { path: string; encoding: Encoding; offset: number },
) {
  const segments = await place.resolve(path);
  const file = await place.openFile(segments, constants.O_RDONLY);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(0, Math.min(toolkitLimits.maxReadBytes, size - offset)));
    let filled = 0;
    while (filled < buffer.length) {
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    const bytes = buffer.subarray(0, filled);
    if (encoding === "utf8" && bytes.includes(0)) throw new Error('the file is binary; read it with encoding "base64"');
    const length = encoding === "utf8" ? readableLength(bytes, offset + filled < size) : filled;
    const next = offset + length;
    const isCut = next < size;
    return toolkitOutput({
      data: {
        path: segments.join("/"),
        encoding,
        size_bytes: size,
        offset,
        content: bytes.toString(encoding, 0, length),
      },
      truncated: isCut,
      ...(isCut ? { summary: `there is more: continue with offset ${next}` } : {}),
    });
  } finally {
    await file.close();
  }
}

/**
 * How many of the bytes to return. A byte that is not UTF-8 takes three bytes as text, and a character that is cut at
 * the end is left to the next read.
 */
function readableLength(bytes: Buffer, goesOn: boolean): number {
  const whole = goesOn ? wholeLength(bytes) : bytes.length;
  if (isUtf8(bytes.subarray(0, whole)) || whole * 3 <= toolkitLimits.maxReadBytes) return whole;
  return wholeLength(bytes.subarray(0, Math.floor(toolkitLimits.maxReadBytes / 3)));
}

function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= 4 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Node.js ignores invalid characters in base64 and would write a damaged file. */
export function toBytes(content: string, encoding: Encoding): Buffer {
  if (encoding === "base64" && /[^A-Za-z0-9+/=_\r\n-]/.test(content))
    throw new Error('content is not base64; leave out encoding, or give "utf8", to write text');
  const bytes = Buffer.from(content, encoding);
  if (bytes.length > toolkitLimits.maxWriteBytes)
    throw new Error(`content has ${bytes.length} bytes, more than ${toolkitLimits.maxWriteBytes}`);
  return bytes;
}

/** Readers see the old file or the new one, never a part. A link with that name is replaced, not followed. */
export async function writeWhole(place: ConfinedPlace, path: string, bytes: Buffer) {
  const segments = await place.resolve(path);
  const name = segments.at(-1);
  if (name === undefined) throw new Error("the path names the root itself, not a file");
  const folder = await place.openFolder(segments.slice(0, -1), { create: true });
  const draft = `${folder.path}/.${randomUUID()}.tmp`;
  try {
    const before = await lstat(`${folder.path}/${name}`).catch(() => undefined);
    if (before?.isDirectory()) throw new Error(`"${segments.join("/")}" is a folder`);
    const file = await open(draft, "wx", before?.isFile() ? before.mode & 0o777 : 0o666);
    await file.writeFile(bytes).finally(() => file.close());
    await rename(draft, `${folder.path}/${name}`);
    return { path: segments.join("/"), bytes_written: bytes.length, created: before === undefined };
  } catch (error) {
    await unlink(draft).catch(() => {});
    throw toReadableError(error, segments.join("/"));
  } finally {
    await folder.close();
  }
}

export async function remove(place: ConfinedPlace, path: string) {
  // Removes a link itself, not its target.
  const [parent, name] = splitLast(path);
  const segments = await place.resolve(parent);
  const shown = [...segments, name].join("/");
  const folder = await place.openFolder(segments);
  try {
    const target = `${folder.path}/${name}`;
    const isFolder = (await lstat(target)).isDirectory();
    await (isFolder ? rmdir(target) : unlink(target));
    return { path: shown, removed: true };
  } catch (error) {
    throw toReadableError(error, shown);
  } finally {
    await folder.close();
  }
}

function splitLast(path: string): [parent: string, name: string] {
  // Not a regular expression: matching slashes at the end would take quadratic time.
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  const trimmed = path.slice(0, end);
  const at = trimmed.lastIndexOf("/");
  const name = trimmed.slice(at + 1);
  if (name === "" || name === "." || name === "..") throw new Error(`"${path}" does not name a file or a folder`);
  return [at < 0 ? "." : trimmed.slice(0, at) || ".", name];
}
