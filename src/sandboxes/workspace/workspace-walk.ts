// Walks through a workspace and adds up its files, while programs may try to hide files from it.
import {
  chmodSync,
  closeSync,
  constants,
  type Dir,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  type Stats,
  statSync,
} from "node:fs";
import { bytesOnDisk, type FileSizes } from "./held-files.ts";
import { isWithin } from "./visible-paths.ts";

export interface WorkspaceWalkOptions {
  /** The workspace, without links. */
  folder: string;
  /** Folders in it that are not counted. */
  except: readonly string[];
  /** The walk stops as soon as the sum is above this. */
  enough: number;
  /** Devices of file systems that are not counted; undefined for all that are mounted in the folder now. */
  mounted: readonly number[] | undefined;
}

const entriesAtOnce = 512;

/** Longer paths are continued from an open folder, because the kernel accepts at most 4095 bytes. */
const maxPathLength = 3000;
/** Folders that are open at once for that; a path of more than `maxOpenFolders * maxPathLength` cannot be counted. */
const maxOpenFolders = 64;
/** O_PATH: opens a folder without the right to read it. The same on x64 and arm64; Node has no constant for it. */
const pathOnly = 0o10000000;
const folderFlags = constants.O_DIRECTORY | constants.O_NOFOLLOW;
const readAndSearch = 0o500;

/** Thrown if a program has made or changed folders so that they cannot be counted. */
export class Uncountable extends Error {}

interface Folder {
  path: string;
  /** Its stats, if its owner has no read permission. */
  locked?: Stats;
}

/** An open folder to close, and the mode to restore before, if the folder was unlocked. */
interface Held {
  open: number;
  mode?: number;
}

/** Paths are texts with one character per byte, because programs may use names that are not UTF-8. */
export class WorkspaceWalk {
  bytes = 0;
  readonly #mounted = new Set<number>();
  readonly #options: WorkspaceWalkOptions;
  readonly #steps: (Folder | Held)[] = [];
  readonly #except: ReadonlySet<string | undefined>;
  readonly #device: number | undefined;
  readonly #user = process.getuid?.() ?? 0;
  readonly #linked = new Set<string>();
  readonly #inodes: number[] = [];
  readonly #sizes: number[] = [];
  #openFolders = 0;

  constructor(options: WorkspaceWalkOptions) {
    this.#options = options;
    this.#except = new Set(options.except.map((path) => keyOf(attempt(() => statSync(path)))));
    const stats = attempt(() => lstatSync(options.folder));
    this.#device = stats?.dev;
    if (stats !== undefined) this.#push(Buffer.from(options.folder).toString("latin1"), stats);
  }

  /** Devices that this walk has not counted, if it was not given a list. */
  get mounted(): number[] {
    return [...(this.#options.mounted ?? this.#mounted)];
  }

  run(): void {
    try {
      for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
        if ("open" in step) this.#close(step);
        else if (this.bytes <= this.#options.enough) this.#enter(step);
      }
    } finally {
      for (const step of this.#steps) if ("open" in step) this.#close(step);
    }
  }

  add(inode: number, bytes: number, size: number): void {
    this.bytes += bytes;
    if (this.#user === 0) return;
    this.#inodes.push(inode);
    this.#sizes.push(size);
  }

  sizes(): FileSizes {
    return { inodes: Float64Array.from(this.#inodes), bytes: Float64Array.from(this.#sizes) };
  }

  #push(path: string, stats: Stats): void {
    const isLocked = this.#user !== 0 && stats.uid === this.#user && (stats.mode & readAndSearch) !== readAndSearch;
    this.#steps.push(isLocked ? { path, locked: stats } : { path });
  }

  #enter({ path, locked }: Folder): void {
    const at = locked !== undefined ? this.#unlock(path, locked) : this.#shorten(path);
    if (at === undefined) return;
    const options = { bufferSize: entriesAtOnce, encoding: "latin1" } as const;
    const folder = this.#ifThere(at, () => opendirSync(bytesOf(at), options));
    if (folder === undefined) return;
    try {
      this.#read(at, folder);
    } finally {
      folder.closeSync();
    }
  }

  #read(path: string, folder: Dir): void {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      const inner = `${path}/${entry.name}`;
      const stats = this.#ifThere(path, () => lstatSync(bytesOf(inner)));
      if (stats === undefined || !this.#isCounted(stats)) continue;
      const bytes = bytesOnDisk(stats);
      this.add(stats.ino, bytes, Math.max(bytes, stats.size));
      if (this.bytes > this.#options.enough) return;
      if (stats.isDirectory() && !this.#except.has(keyOf(stats))) this.#push(inner, stats);
    }
  }

  #isCounted(stats: Stats): boolean {
    if (stats.dev !== this.#device) {
      const { mounted } = this.#options;
      // A device that appeared later is part of this file system, for example a subvolume: programs cannot mount.
      if (mounted === undefined) this.#mounted.add(stats.dev);
      if (mounted === undefined || mounted.includes(stats.dev)) return false;
    }
    if (stats.nlink < 2 || stats.isDirectory()) return true;
    const key = keyOf(stats) as string;
    if (this.#linked.has(key)) return false;
    this.#linked.add(key);
    return true;
  }

  /** Converts a long path to a short one, which is valid until the step that closes it. */
  #shorten(path: string): string | undefined {
    if (path.length <= maxPathLength) return path;
    const open = this.#ifThere(path, () => openSync(bytesOf(path), constants.O_RDONLY | folderFlags));
    return open === undefined ? undefined : this.#hold({ open });
  }

  /**
   * A program can remove its own user's permissions on a folder. The host runs as the same user and adds them for the
   * count.
   */
  #unlock(path: string, seen: Stats): string | undefined {
    const open = this.#ifThere(path, () => openSync(bytesOf(path), pathOnly | folderFlags));
    if (open === undefined) return undefined;
    const at = this.#hold({ open, mode: seen.mode & 0o7777 });
    const found = fstatSync(open);
    // A program may replace a parent folder by a link, to lead the host elsewhere. A path that is too long cannot be
    // read back.
    const place = attempt(() => readlinkSync(at)) ?? this.#options.folder;
    if (keyOf(found) !== keyOf(seen) || !isWithin(this.#options.folder, place)) return undefined;
    attempt(() => chmodSync(at, (seen.mode & 0o7777) | readAndSearch));
    return at;
  }

  #hold(held: Held): string {
    this.#openFolders += 1;
    this.#steps.push(held);
    if (this.#openFolders > maxOpenFolders) throw new Uncountable();
    return `/proc/self/fd/${held.open}`;
  }

  #close({ open, mode }: Held): void {
    this.#openFolders -= 1;
    // Not if the program has changed the mode meanwhile.
    if (mode !== undefined && (fstatSync(open).mode & 0o7777) === (mode | readAndSearch)) {
      attempt(() => chmodSync(`/proc/self/fd/${open}`, mode));
    }
    closeSync(open);
  }

  /** Undefined for an entry that is gone or replaced, and in private folders of another user. */
  #ifThere<T>(folder: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (["ENOENT", "ENOTDIR", "ELOOP"].includes(code)) return undefined;
      if (code === "ENAMETOOLONG") throw new Uncountable();
      if (code !== "EACCES") throw error;
      // Its permissions were removed since it was listed.
      if (attempt(() => statSync(bytesOf(folder)))?.uid === this.#user) throw new Uncountable();
      return undefined;
    }
  }
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, "latin1");
}

function keyOf(stats: Stats | undefined): string | undefined {
  return stats && `${stats.dev}:${stats.ino}`;
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
