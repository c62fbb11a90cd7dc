// Removed files take disk space until no process holds them: open, mapped, as its program, or in the queue of a socket.
// The files that processes of a workspace hold are read from /proc; on other systems none are found.
import { readdirSync, readFileSync, readlinkSync, type Stats, statSync } from "node:fs";
import { isWithin } from "./visible-paths.ts";

export interface HeldFilesOptions {
  /** The workspace, without links. */
  folder: string;
  /** The same folder, as programs see it. */
  shownAs: string;
  /** The largest file that a program may write. */
  maxFileBytes: number;
  /** The sizes of the files of the workspace at the last count. */
  sizes: FileSizes | undefined;
}

/** Parallel lists: an inode, and the bytes that its file can take. */
export interface FileSizes {
  inodes: Float64Array;
  bytes: Float64Array;
}

/** The minimum that every file and folder counts: a disk has a limited number of them. */
const minFileBytes = 4096;
const blockBytes = 512;

export function bytesOnDisk({ blocks }: Stats): number {
  return Math.max(minFileBytes, blocks * blockBytes);
}

export interface HeldFiles {
  /** Removed files: inode to bytes. */
  files: Map<number, number>;
  /** Open files in sockets that have not been received. Linux reports their number only. */
  queued: number;
}

export function findHeldFiles(options: HeldFilesOptions): HeldFiles {
  const held: HeldFiles = { files: new Map(), queued: 0 };
  const workspace = statOf(options.folder);
  const ownProcesses = linkOf("/proc/self/ns/pid");
  if (workspace === undefined || ownProcesses === undefined) return held;
  const sockets = new Set<number>();
  for (const process of namesIn("/proc")) {
    if (!/^\d+$/.test(process) || linkOf(`/proc/${process}/ns/pid`) === ownProcesses) continue;
    // Each thread may have its own open files, and the first thread may have ended before the others.
    const threads = namesIn(`/proc/${process}/task`).filter((thread) =>
      isSame(statOf(`/proc/${thread}/root${options.shownAs}`), workspace),
    );
    for (const thread of threads) addOpen(thread, options, held, sockets);
    threads.some((thread) => addMapped(thread, options, held));
  }
  return held;
}

function addOpen(thread: string, options: HeldFilesOptions, held: HeldFiles, sockets: Set<number>): void {
  const open = namesIn(`/proc/${thread}/fd`).map((name) => `fd/${name}`);
  for (const name of [...open, "exe"]) {
    const link = `/proc/${thread}/${name}`;
    const stats = statOf(link);
    if (stats?.isSocket() && !sockets.has(stats.ino)) {
      sockets.add(stats.ino);
      held.queued += queuedIn(`/proc/${thread}/fdinfo/${name.slice(3)}`);
    }
    if (!stats?.isFile() || stats.nlink > 0) continue;
    // If the path is too long to be read, the file is counted as part of the workspace.
    if (isOurs(linkOf(link) ?? options.folder, options)) held.files.set(stats.ino, bytesOnDisk(stats));
  }
}

/** False for a thread that has ended, which has no mappings. */
function addMapped(thread: string, options: HeldFilesOptions, held: HeldFiles): boolean {
  const text = textOf(`/proc/${thread}/maps`);
  for (const line of text.split("\n")) {
    if (!line.endsWith(removed)) continue;
    const [, from = "", to = "", inode = "", path = ""] = mapping.exec(line) ?? [];
    if (!isOurs(path, options) || held.files.has(Number(inode))) continue;
    // Only root may follow this link.
    const stats = statOf(`/proc/${thread}/map_files/${trimZeros(from)}-${trimZeros(to)}`);
    if (stats === undefined) held.files.set(Number(inode), largestSize(Number(inode), options));
    else if (stats.nlink === 0) held.files.set(stats.ino, bytesOnDisk(stats));
  }
  return text !== "";
}

/**
 * For a file that only a mapping holds: its size at the last count or, if it is newer, the largest size that a file may
 * have.
 */
function largestSize(inode: number, { sizes, maxFileBytes }: HeldFilesOptions): number {
  return sizes?.bytes[sizes.inodes.indexOf(inode)] ?? maxFileBytes;
}

const removed = " (deleted)";
const mapping = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) +(.*)$/;

/** By the path that the kernel reports, as seen from the host or from the program. */
function isOurs(path: string, { folder, shownAs }: HeldFilesOptions): boolean {
  return isWithin(folder, path) || isWithin(shownAs, path);
}

function isSame(one: Stats | undefined, other: Stats): boolean {
  return one?.ino === other.ino && one.dev === other.dev;
}

function queuedIn(info: string): number {
  return Number(/^scm_fds:\s*(\d+)$/m.exec(textOf(info))?.[1] ?? 0);
}

function trimZeros(address: string): string {
  return address.replace(/^0+(?=.)/, "");
}

// Processes come and go meanwhile, and the host may not read those of other users.

function namesIn(folder: string): string[] {
  return orElse([], () => readdirSync(folder));
}

function textOf(file: string): string {
  return orElse("", () => readFileSync(file, "utf8"));
}

function linkOf(path: string): string | undefined {
  return orElse(undefined, () => readlinkSync(path));
}

function statOf(path: string): Stats | undefined {
  return orElse(undefined, () => statSync(path));
}

function orElse<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
