// What a workspace takes on its disk, as far as it is new.
import { lstat, readdir, readFile, readlink, stat, statfs } from "node:fs/promises";
import { join } from "node:path";

/** What an empty file costs, too: there are only so many of them. */
const minFileBytes = 4096;
const blockBytes = 512;
const filesAtOnce = 64;

/** On the disk of this folder; room for files without content counts as well. */
export async function freeBytes(folder: string): Promise<number> {
  const { bfree, bsize, ffree } = await statfs(folder);
  return bfree * bsize + ffree * minFileBytes;
}

export interface AddedOptions {
  folder: string;
  /** The same folder, as programs see it. */
  shownAs: string;
  /** Files that have not changed since then, in milliseconds since 1970, do not count. */
  since: number;
  /** Folders in it that are somebody else's. */
  except: readonly string[];
  /** Where it is known to be more than this, nobody needs to know how much more. */
  enough: number;
}

export async function addedBytes(options: AddedOptions): Promise<number> {
  const bytes = await bytesOfFiles(options);
  return bytes > options.enough ? bytes : bytes + (await bytesOfRemoved(options));
}

/** By the time of the last change of any kind, which a program cannot set. */
async function bytesOfFiles({ folder, since, except, enough }: AddedOptions): Promise<number> {
  const { dev } = await lstat(folder);
  const folders = [folder];
  let bytes = 0;
  for (let path = folders.pop(); path !== undefined && bytes <= enough; path = folders.pop()) {
    // It may be gone by now: programs are at work.
    const names = await readdir(path).catch(() => []);
    for (let at = 0; at < names.length && bytes <= enough; at += filesAtOnce) {
      const paths = names.slice(at, at + filesAtOnce).map((name) => join(path, name));
      const found = await Promise.all(paths.map((inner) => lstat(inner).catch(() => undefined)));
      for (const [index, stats] of found.entries()) {
        if (stats === undefined || stats.dev !== dev) continue;
        if (stats.ctimeMs >= since) bytes += Math.max(minFileBytes, stats.blocks * blockBytes);
        const inner = paths[index] as string;
        if (stats.isDirectory() && !except.includes(inner)) folders.push(inner);
      }
    }
  }
  return bytes;
}

/** Files that have no name any more take their room until nobody has them open. */
async function bytesOfRemoved({ folder, shownAs }: AddedOptions): Promise<number> {
  const sizes = new Map<string, number>();
  const isWithin = (path: string) => [folder, shownAs].some((around) => path.startsWith(`${around}/`));
  const isOurs = (path: string) => path.endsWith(" (deleted)") && isWithin(path);
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    for (const line of (await readFile(`/proc/${pid}/maps`, "utf8").catch(() => "")).split("\n")) {
      const [, from = "", to = "", inode = "", path = ""] = mapping.exec(line) ?? [];
      if (isOurs(path)) sizes.set(inode, Number.parseInt(to, 16) - Number.parseInt(from, 16));
    }
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const link = `/proc/${pid}/fd/${descriptor}`;
      if (!isOurs(await readlink(link).catch(() => ""))) continue;
      const found = await stat(link).catch(() => undefined);
      if (found !== undefined) sizes.set(String(found.ino), found.blocks * blockBytes);
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

const mapping = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) +(.*)$/;
