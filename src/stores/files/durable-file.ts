// Files that are there whole or not at all, also after the power went off.
import { type FileHandle, open, rename, stat, unlink } from "node:fs/promises";

/**
 * Writes a file that must not exist yet. Returns false if it exists or if another writer is creating it.
 * `${path}.part` is both the unfinished file and the claim on its name: it is created exclusively, so two processes
 * never write the same file.
 */
export async function writeNewFile(path: string, content: string): Promise<boolean> {
  const part = `${path}.part`;
  const file = await openExclusively(part);
  if (file === undefined) return false;
  try {
    // The previous holder of the claim may have finished the file since the caller checked.
    const isTaken = await exists(path);
    if (!isTaken) {
      await file.writeFile(content);
      await file.sync();
    }
    await file.close();
    await (isTaken ? unlink(part) : rename(part, path));
    return !isTaken;
  } catch (cause) {
    await file.close().catch(() => {});
    await unlink(part).catch(() => {});
    throw cause;
  }
}

export function isMissing(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

async function openExclusively(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false;
      throw error;
    },
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
