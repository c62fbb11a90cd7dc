// Root's own workspace becomes that of the stranger who works in it. Links are not followed, and what has other names
// elsewhere, in other folders of the host, stays as it is.
import type { Identity } from "./identity.ts";

/** For the `find` of GNU: what is root's and only here. */
export const ownedByRoot = ["-uid", "0", "(", "-type", "d", "-o", "-links", "1", ")"];

/**
 * The arguments of a `find` that hands over a folder while others work in it: `-execdir` enters each folder and changes what
 * is in there, so nobody can put a link in its way. Other file systems and the folders to be left out stay root's.
 */
export function handoverArguments(
  folder: string,
  { uid, gid }: Identity,
  { chown, except }: { chown: string; except: readonly string[] },
): string[] {
  const skipped = except.flatMap((path) => ["-path", path.replace(/[\\*?[\]]/g, "\\$&"), "-prune", "-o"]);
  return [folder, "-xdev", ...skipped, ...ownedByRoot, "-execdir", chown, "-h", `${uid}:${gid}`, "{}", "+"];
}
