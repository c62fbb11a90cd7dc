// The data roots of one session: folders named by its agent, each of which starts with the files of the host's
// baseline.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { envLimits } from "../limits.ts";
import { env } from "../protocol.ts";
import { listFiles, openSource, type StagedFile, stageFile, toSegments } from "./data-folder.ts";
import type { SessionFolder } from "./session-folder.ts";
import { incoming, isRootName } from "./staged-folders.ts";

export interface DataRootsOptions {
  /** Copied into every new data root. */
  readonly baseline: string | undefined;
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** The bytes and files that a session may still stage. */
export interface Room {
  bytes: number;
  files: number;
}

export interface DataRoot {
  readonly name: string;
  readonly folder: string;
  /** The path of a copy until it is complete. */
  readonly partial: string;
}

export class DataRoots {
  readonly #options: DataRootsOptions;
  readonly #place: SessionFolder;

  constructor(options: DataRootsOptions, place: SessionFolder) {
    this.#options = options;
    this.#place = place;
  }

  /** Returns the root. A new root starts with the baseline. */
  async open(data_root: string, signal: AbortSignal): Promise<DataRoot> {
    const root = await this.#rootOf(data_root);
    if (!existsSync(root.folder)) await this.#begin(root, signal);
    return root;
  }

  /** Returns the root for reading only, without copying files that are shared with forks. */
  async openToRead(data_root: string, signal: AbortSignal): Promise<Pick<DataRoot, "name" | "folder">> {
    const name = toRootName(data_root);
    const folder = join(this.#place.readable, name);
    return existsSync(folder) ? { name, folder } : this.open(data_root, signal);
  }

  /** Restores the baseline, with or without the files that were added, and returns the number of its files. */
  async reset(data_root: string, isKept: boolean, signal: AbortSignal): Promise<DataRoot & { restored: number }> {
    const root = await this.#rootOf(data_root);
    const isRestored = isKept && existsSync(root.folder);
    const restored = await (isRestored ? this.#stageBaseline(root.folder, root, signal) : this.#begin(root, signal));
    return { ...root, restored };
  }

  /** The room that is left. A root that is about to be replaced does not count. */
  async room(except?: string): Promise<Room> {
    const files = (await listFiles(await this.#place.own())).filter(({ dest }) => {
      const [name] = dest.split("/", 1);
      return isRootName(name ?? "") && name !== except;
    });
    const { maxBytes, maxFiles } = this.#options;
    return { bytes: maxBytes - sizeOf(files), files: maxFiles - files.length };
  }

  async #rootOf(data_root: string): Promise<DataRoot> {
    const name = toRootName(data_root);
    const own = await this.#place.own();
    return { name, folder: join(own, name), partial: join(own, incoming, "file") };
  }

  /** Creates or replaces the root, completely or not at all. */
  async #begin(root: DataRoot, signal: AbortSignal): Promise<number> {
    const own = await this.#place.own();
    const { maxDataRoots } = envLimits;
    const others = (await readdir(own)).filter((name) => isRootName(name) && name !== root.name);
    if (others.length >= maxDataRoots)
      throw env.error("schema_violation", `data_root: a session has at most ${maxDataRoots}`, {
        detail: { limit: "maxDataRoots" },
      });
    const fresh = join(own, incoming, "root");
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { recursive: true });
    const count = await this.#stageBaseline(fresh, root, signal);
    await rm(root.folder, { recursive: true, force: true });
    await rename(fresh, root.folder);
    return count;
  }

  async #stageBaseline(folder: string, { name, partial }: DataRoot, signal: AbortSignal): Promise<number> {
    const { baseline } = this.#options;
    if (baseline === undefined) return 0;
    const files = await listFiles(baseline);
    const room = await this.room(name);
    if (files.length > room.files || sizeOf(files) > room.bytes)
      throw env.error("runtime_error", "this session has no room for another copy of the host's baseline", {
        retryable: false,
        detail: { files: files.length, bytes: sizeOf(files), room_files: room.files, room_bytes: room.bytes },
      });
    for (const { dest } of files) {
      signal.throwIfAborted();
      const { file } = await openSource(dest, [baseline]);
      try {
        const { size } = await file.stat();
        await stageFile({ file, size, folder, segments: dest.split("/"), partial, signal });
      } finally {
        await file.close();
      }
    }
    return files.length;
  }
}

/** The folder name of a root. Different roots have different names, however long they are. */
export function toRootName(data_root: string): string {
  const root = toSegments(data_root).join("/");
  const name = encodeURIComponent(root) || "root";
  return name.length <= 100 ? name : `%${createHash("sha256").update(root).digest("hex")}`;
}

function sizeOf(files: readonly StagedFile[]): number {
  return files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
}
