import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { z } from "zod";
import { toReadableError } from "../../../host/confinement/workspace.ts";
import { cutText } from "../../../host/validation/json-size.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { defineToolkit, type Toolkit, toolkitOutput } from "../define-toolkit.ts";
import { toolkitLimits } from "../limits.ts";
import type { AllowedFolders, ConfinedPlace } from "./allowed-folders.ts";

const path = z.string().max(4096);
const isWritable = (config: JsonObject) => config.writable === true;

export function filesystemToolkit(allowed: AllowedFolders): Toolkit {
  return defineToolkit({
    name: "filesystem",
    description: "Files below one folder: list, read and, where allowed, write and remove them.",
    category: "files",
    tags: ["files"],
    config: z.object({
      root: path
        .default(".")
        .describe("The folder, relative to the workspace or in a folder that the operator allows."),
      writable: z.boolean().default(false).describe("Lets tools write and remove files."),
    }),

    async start({ root, writable }) {
      const place = await allowed.find(root, { write: writable });
      // A folder that is missing or no folder is told now and not with the first call.
      await (await place.openFolder([], { create: writable })).close();
      return place;
    },

    tools: {
      list: {
        description: "Lists a folder with types and sizes.",
        tags: ["files", "read"],
        idempotent: true,
        input: z.object({ path: path.default(".") }),
        run: (args, { resource }) => listFolder(resource, args.path),
      },
      read: {
        description: "Reads a file as text, or as base64 from a position.",
        tags: ["files", "read"],
        idempotent: true,
        input: z.object({
          path: path.min(1),
          encoding: z.enum(["utf8", "base64"]).default("utf8"),
          offset: z.int().min(0).default(0).describe("Bytes to skip."),
        }),
        run: (args, { resource }) => readPart(resource, args),
      },
      write: {
        description: "Writes a file as a whole, making folders as needed.",
        tags: ["files", "write"],
        idempotent: true,
        input: z.object({
          path: path.min(1),
          content: z.string().max(toolkitLimits.maxWriteBytes),
          encoding: z.enum(["utf8", "base64"]).default("utf8"),
        }),
        when: isWritable,
        run: (args, { resource }) => writeWhole(resource, args.path, Buffer.from(args.content, args.encoding)),
      },
      remove: {
        description: "Removes a file or an empty folder.",
        tags: ["files", "write"],
        input: z.object({ path: path.min(1) }),
        when: isWritable,
        run: (args, { resource }) => remove(resource, args.path),
      },
    },
  });
}

async function listFolder(place: ConfinedPlace, path: string) {
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

async function readPart(
  place: ConfinedPlace,
  { path, encoding, offset }: { path: string; encoding: "utf8" | "base64"; offset: number },
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
    const end = offset + filled;
    const isCut = end < size;
    const text = encoding === "base64" ? bytes.toString("base64") : readText(bytes, isCut);
    const next = encoding === "base64" ? end : offset + Buffer.byteLength(text);
    return toolkitOutput({
      data: { path: segments.join("/"), encoding, size_bytes: size, offset, content: text },
      truncated: isCut,
      ...(isCut ? { summary: `there is more: continue with offset ${next}` } : {}),
    });
  } finally {
    await file.close();
  }
}

/** A character that was cut in two is left for the next read. */
function readText(bytes: Buffer, isCut: boolean): string {
  if (!isCut) return bytes.toString("utf8");
  let end = bytes.length;
  for (let back = 1; back <= 4 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (length > back) end = bytes.length - back;
    break;
  }
  return cutText(bytes.toString("utf8", 0, end), toolkitLimits.maxReadBytes);
}

/** Readers see the old file or the new one; a link under that name is replaced, not followed. */
async function writeWhole(place: ConfinedPlace, path: string, bytes: Buffer) {
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

async function remove(place: ConfinedPlace, path: string) {
  // The name itself is removed, and not what a link of that name leads to.
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
  const trimmed = path.replace(/\/+$/, "");
  const at = trimmed.lastIndexOf("/");
  const name = trimmed.slice(at + 1);
  if (name === "" || name === "." || name === "..") throw new Error(`"${path}" does not name a file or a folder`);
  return [at < 0 ? "." : trimmed.slice(0, at) || ".", name];
}
