import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";

/** A rename or removal is only sure to last once its folder was synced. Windows cannot, and does not need to. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The same for those who cannot wait. */
export function syncFolderNow(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
