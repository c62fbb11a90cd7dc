// Writes files that are on the disk as a whole or not at all, also after a power cut.
import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../machinery/folder-sync.ts";

export interface FileToWrite {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Replaces the files. Resolves when all of them, and their names, are on the disk. */
export async function writeDurably(files: readonly FileToWrite[]): Promise<void> {
  const folders = new Set<string>();
  for (const { path, bytes } of files) {
    const folder = dirname(path);
    const made = folders.has(folder) ? undefined : await mkdir(folder, { recursive: true, mode: 0o700 });
    // A new folder is an entry of its parent.
    for (let parent = folder; made !== undefined && parent.length >= dirname(made).length; parent = dirname(parent))
      folders.add(parent);
    folders.add(folder);
    const part = `${path}.part`;
    const file = await open(part, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  }
  for (const folder of folders) await syncFolder(folder);
}
