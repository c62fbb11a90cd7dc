// The user that a confined program runs as if the host is root: limits do not apply to root, so it is another user.
import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { SandboxPolicy } from "../../plugin/ports/sandbox.ts";

export interface Identity {
  uid: number;
  gid: number;
}

/** An unused user id, far from the ids that systems and containers assign. */
export const strangerId = 1_900_000_000;

export interface Assumed {
  identity: Identity;
  /** Root's own workspace, whose owner is changed to this user. */
  handover?: string;
}

/**
 * The owner of the workspace, or the stranger if that is root. If the host is not root, programs run as the host's
 * user.
 */
export function assumeIdentity({ workspace, readable = [] }: SandboxPolicy): Assumed {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (own.uid !== 0) return { identity: own };
  const owner = workspace === undefined ? undefined : statSync(workspace.path, { throwIfNoEntry: false });
  const isOrdinary = owner !== undefined && owner.uid !== 0 && owner.uid !== strangerId;
  const identity = isOrdinary ? { uid: owner.uid, gid: owner.gid } : { uid: strangerId, gid: strangerId };
  for (const path of readable) refusePrivate(path, identity);
  const isHandedOver = !isOrdinary && workspace?.access === "write";
  return isHandedOver ? { identity, handover: resolve(workspace.path) } : { identity };
}

/** Root may show any file, but the file system decides whether the program can read it. */
function refusePrivate(path: string, { uid }: Identity): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.uid === uid) return;
  const needed = found.isDirectory() ? 0o005 : 0o004;
  if ((found.mode & needed) !== needed) {
    throw new Error(`${path} is private to its owner: if the host runs as root, other users must be able to read it`);
  }
}

/** Names for the two users that a program may see, instead of the host's accounts. Path inside to path outside. */
export async function writeAccounts(folder: string, { uid, gid }: Identity): Promise<Record<string, string>> {
  const files = {
    passwd: `root:x:0:0:root:/:/bin/sh\nsandbox:x:${uid}:${gid}:sandbox:/tmp:/bin/sh\n`,
    group: `root:x:0:\nsandbox:x:${gid}:\n`,
  };
  const paths: Record<string, string> = {};
  for (const [name, content] of Object.entries(files)) {
    const source = join(folder, `${name}-${uid}`);
    await writeFile(source, content, { mode: 0o644 });
    paths[`/etc/${name}`] = source;
  }
  return paths;
}
