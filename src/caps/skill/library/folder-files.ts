// The files of a skill. Links are never followed, and nothing but regular files counts.
import { constants } from "node:fs";
import { type FileHandle, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Workspace } from "../../../host/confinement/workspace.ts";
import { isVersion } from "../format/versions.ts";
import { skillLimits } from "../limits.ts";
import { unknownResource } from "../problems.ts";
import type { Skill } from "./skill.ts";

export interface SkillFile {
  /** With slashes, relative to the folder. */
  readonly path: string;
  readonly size: number;
  /** Changes with the file. */
  readonly stamp: string;
}

/** In a stable order, at most `maxFiles` of them; folders of other versions and hidden ones are no part of a skill. */
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
      const { size, mtimeMs, ctimeMs, ino } = await lstat(join(folder, ...path));
      files.push({ path: path.join("/"), size, stamp: `${ino}-${size}-${mtimeMs}-${ctimeMs}` });
      if (files.length >= skillLimits.maxFiles) return files.sort(byPath);
    }
  }
  return files.sort(byPath);
}

function byPath(left: SkillFile, right: SkillFile): number {
  return left.path < right.path ? -1 : 1;
}

const { O_RDONLY } = constants;

/** Opens a file by a path that came from outside; `unknown_resource` for every way out of the folder. */
export async function openSkillFile({ name, folder }: Skill, path: string): Promise<FileHandle> {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const isOutside = path.startsWith("/") || /[\0\\]/.test(path) || segments.includes("..");
  if (isOutside || segments.length === 0)
    throw unknownResource(name, path, "expected a path relative to the folder of the skill");
  if (segments.some((segment) => segment.startsWith("."))) throw unknownResource(name, path);
  try {
    // Walks folder by folder and follows no link, whatever is swapped meanwhile.
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
