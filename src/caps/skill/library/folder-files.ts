// The files of a skill. Links are never followed; only regular files count.
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Workspace } from "../../../machinery/confinement/workspace.ts";
import { isVersion } from "../format/versions.ts";
import { skillLimits } from "../limits.ts";
import { unknownResource } from "../problems.ts";
import type { Skill } from "./skill.ts";
import { SkillChanged } from "./skill-changed.ts";

export interface SkillFile {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  readonly size: number;
  /** Changes whenever the file changes. */
  readonly stamp: string;
}

/**
 * The files in a stable order, at most `maxFiles`. Folders of other versions and hidden files are not part of a skill.
 */
export async function listFiles(folder: string): Promise<SkillFile[]> {
  const files: SkillFile[] = [];
  const open: string[][] = [[]];
  for (let segments = open.pop(); segments !== undefined; segments = open.pop()) {
    const entries = await readdir(join(folder, ...segments), { withFileTypes: true }).catch(() => []);
    entries.sort((left, right) => (left.name < right.name ? 1 : -1));
    for (const entry of entries) {
      const path = [...segments, entry.name];
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const isOtherVersion = segments.length === 0 && isVersion(entry.name);
      if (entry.isDirectory() && !isOtherVersion && path.length < skillLimits.maxFolderDepth) open.push(path);
      if (!entry.isFile()) continue;
      // Removed since the folder was listed.
      const found = await lstat(join(folder, ...path), { bigint: true }).catch(() => undefined);
      if (found === undefined) continue;
      files.push({ path: path.join("/"), size: Number(found.size), stamp: stampOf(found) });
      if (files.length >= skillLimits.maxFiles) return files.sort(byPath);
    }
  }
  return files.sort(byPath);
}

/** A string that differs between two states of a file, as far as the file system distinguishes them. */
export function stampOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join("-");
}

/** The two allowed spellings, in the order in which they are tried. */
export const manifestNames = ["SKILL.md", "skill.md"] as const;

/** Throws SkillChanged if the manifest among these files is not the one that the skill was read from. */
export function checkFiles({ stamp }: Skill, files: readonly SkillFile[]): void {
  const manifest = manifestNames
    .map((name) => files.find(({ path }) => path === name))
    .find((file) => file !== undefined);
  if (manifest?.stamp !== stamp) throw new SkillChanged();
}

/**
 * Throws SkillChanged if the manifest has changed. Called after a file was read, it proves that the file belongs to the
 * skill's version.
 */
export async function checkUnchanged(skill: Skill): Promise<void> {
  const files = await Promise.all(
    manifestNames.map(async (path) => {
      const found = await lstat(join(skill.folder, path), { bigint: true }).catch(() => undefined);
      return found?.isFile() ? [{ path, size: Number(found.size), stamp: stampOf(found) }] : [];
    }),
  );
  checkFiles(skill, files.flat());
}

function byPath(left: SkillFile, right: SkillFile): number {
  return left.path < right.path ? -1 : 1;
}

const { O_RDONLY } = constants;

/** Opens a file by a path from outside. Every path that leaves the folder is answered with `unknown_resource`. */
export async function openSkillFile({ name, folder }: Skill, path: string): Promise<FileHandle> {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const isOutside = path.startsWith("/") || /[\0\\]/.test(path) || segments.includes("..");
  if (isOutside || segments.length === 0)
    throw unknownResource(name, path, "expected a path relative to the folder of the skill");
  if (segments.some((segment) => segment.startsWith("."))) throw unknownResource(name, path);
  try {
    // Opens folder by folder without following links, even if a folder is replaced meanwhile.
    return await new Workspace(folder).openFile(segments, O_RDONLY);
  } catch (error) {
    throw unknownResource(name, path, await reasonOf(error, folder, segments));
  }
}

async function reasonOf(error: unknown, folder: string, segments: readonly string[]): Promise<string> {
  const cause = (error as { cause?: { code?: unknown } }).cause?.code;
  if (cause === "ELOOP") return "leads through a symbolic link";
  const found = await lstat(join(folder, ...segments)).catch(() => undefined);
  if (found?.isDirectory()) return "is a folder";
  return found?.isSymbolicLink() ? "leads through a symbolic link" : "there is no such file";
}
