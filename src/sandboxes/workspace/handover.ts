// Changes the owner of root's workspace to the user that works in it. Links are not followed, and files with further
// hard links elsewhere stay unchanged.
import type { Identity } from "./identity.ts";

/** For GNU find: entries that root owns and that have no other hard links. */
export const ownedByRoot = ["-uid", "0", "(", "-type", "d", "-o", "-links", "1", ")"];

/**
 * The arguments of a `find` that changes the owner of a folder while programs work in it: `-execdir` enters each folder
 * and changes its entries there, so that no link can redirect it. Other file systems and the excluded folders stay
 * root's.
 */
export function handoverArguments(
  folder: string,
  { uid, gid }: Identity,
  { chown, except }: { chown: string; except: readonly string[] },
): string[] {
  const skipped = except.flatMap((path) => ["-path", path.replace(/[\\*?[\]]/g, "\\$&"), "-prune", "-o"]);
  return [folder, "-xdev", ...skipped, ...ownedByRoot, "-execdir", chown, "-h", `${uid}:${gid}`, "{}", "+"];
}
