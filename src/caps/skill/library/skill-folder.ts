// Reads the folder of one skill in one root: it has a SKILL.md, folders of versions, or both.
import { constants } from "node:fs";
import { type FileHandle, open, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { type Manifest, parseManifest } from "../format/manifest.ts";
import { SkillFormatError } from "../format/skill-format-error.ts";
import { isVersion } from "../format/versions.ts";
import { skillLimits } from "../limits.ts";
import type { SkillSource } from "../protocol.ts";
import { manifestNames, stampOf } from "./folder-files.ts";
import type { Skill } from "./skill.ts";

/** A folder with a SKILL.md that is not valid. */
export interface BrokenSkill {
  readonly folder: string;
  readonly stamp: string;
  readonly problems: readonly string[];
}

export type FoundSkill = Skill | BrokenSkill;

export function isBroken(found: FoundSkill): found is BrokenSkill {
  return "problems" in found;
}

/** Skills by folder as they were last read, so that an unchanged file is not parsed again. */
export type SkillCache = Map<string, FoundSkill>;

/** The versions of a skill in a root, unordered; empty if the root has no such skill. */
export async function readSkillFolder(
  root: { readonly path: string; readonly source: SkillSource },
  name: string,
  cache: SkillCache,
): Promise<FoundSkill[]> {
  // The folder itself may be a link, as installers of skills create them. Links within it are not followed.
  const folder = await realpath(join(root.path, name)).catch(() => undefined);
  if (folder === undefined) return [];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const versions = entries
    .filter((entry) => entry.isDirectory() && isVersion(entry.name))
    .slice(0, skillLimits.maxVersions)
    .map((entry) => readManifestIn(join(folder, entry.name), root.source, cache, { name, version: entry.name }));
  const found = await Promise.all([readManifestIn(folder, root.source, cache, { name }), ...versions]);
  return found.filter((one) => one !== undefined);
}

const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

async function readManifestIn(
  folder: string,
  source: SkillSource,
  cache: SkillCache,
  expected: { name: string; version?: string },
): Promise<FoundSkill | undefined> {
  const file = await openManifest(folder);
  if (file === undefined) return void cache.delete(folder);
  try {
    const found = await file.stat({ bigint: true });
    const stamp = stampOf(found);
    const known = cache.get(folder);
    if (known?.stamp === stamp) return known;
    const read = await parse(file, Number(found.size), expected).then(
      (manifest): Skill => ({ ...manifest, source, folder, stamp }),
      (error: unknown): BrokenSkill => {
        if (!(error instanceof SkillFormatError)) throw error;
        return { folder, stamp, problems: error.problems };
      },
    );
    cache.set(folder, read);
    return read;
  } finally {
    await file.close();
  }
}

/** Opens regular files only, and not through a link: a pipe would block, and a device has no end. */
async function openManifest(folder: string): Promise<FileHandle | undefined> {
  for (const name of manifestNames) {
    const file = await open(join(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
    if (file === undefined) continue;
    if ((await file.stat()).isFile()) return file;
    await file.close();
  }
  return undefined;
}

async function parse(file: FileHandle, size: number, expected: { name: string; version?: string }): Promise<Manifest> {
  const { maxManifestBytes } = skillLimits;
  if (size > maxManifestBytes) throw new SkillFormatError([`is larger than ${maxManifestBytes} bytes`]);
  const manifest = await parseManifest(await file.readFile("utf8"));
  if (manifest.name !== expected.name)
    throw new SkillFormatError([`name: is "${manifest.name}", but its folder is called "${expected.name}"`]);
  if (expected.version !== undefined && manifest.version !== expected.version)
    throw new SkillFormatError([`version: is "${manifest.version}", but its folder is called "${expected.version}"`]);
  return manifest;
}
