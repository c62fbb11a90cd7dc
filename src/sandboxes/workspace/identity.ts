// Who a confined program is, where the host is root: limits do not hold for root, so it is somebody else.
import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { SandboxPolicy } from "../../host/ports/sandbox.ts";

export interface Identity {
  uid: number;
  gid: number;
}

/** A user that nobody is: far from the ids that systems and containers give away. */
export const strangerId = 1_900_000_000;

export interface Assumed {
  identity: Identity;
  /** Root's own workspace, which becomes the stranger's. */
  handover?: string;
}

/** The owner of the workspace, or a stranger where that is root too. An ordinary host's programs are its own user's. */
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

/** Root may show anything; whether the program can read it is decided by the file system. */
function refusePrivate(path: string, { uid }: Identity): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.uid === uid) return;
  const needed = found.isDirectory() ? 0o005 : 0o004;
  if ((found.mode & needed) !== needed) {
    throw new Error(`${path} is private to its owner: where the host runs as root, others must be able to read it`);
  }
}

/** Names for the two users that a program may meet; those of the host are not its business. Path inside to path outside. */
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
