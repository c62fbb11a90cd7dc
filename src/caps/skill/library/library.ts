// All skills of a host. The file system is asked each time, so what is answered is what is there; only what has changed
// is read and parsed again.
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Logger } from "../../../host/logger.ts";
import { skillName } from "../format/manifest.ts";
import { compareVersions, isPrerelease } from "../format/versions.ts";
import { skillLimits } from "../limits.ts";
import { unknownSkill, unknownVersion } from "../problems.ts";
import type { SkillSource } from "../protocol.ts";
import type { Skill } from "./skill.ts";
import { type FoundSkill, isBroken, readSkillFolder, type SkillCache } from "./skill-folder.ts";

export interface SkillRoot {
  readonly path: string;
  readonly source: SkillSource;
}

/** The versions that a name stands for. */
export interface SkillEntry {
  readonly name: string;
  /** What a call without a version uses. */
  readonly current: Skill;
  /** Newest first, each version once: where two roots have it, the one that comes first. */
  readonly versions: readonly Skill[];
}

export class SkillLibrary {
  readonly #roots: readonly SkillRoot[];
  readonly #log: Logger;
  readonly #cache: SkillCache = new Map();
  /** Problems that were told, so that each is told once. */
  readonly #told = new Map<string, string>();

  /** Roots in order: those that come first win. */
  constructor(roots: readonly SkillRoot[], log: Logger) {
    this.#roots = roots;
    this.#log = log;
  }

  /** By name. */
  async list(): Promise<SkillEntry[]> {
    const byRoot = await Promise.all(this.#roots.map(({ path }) => namesIn(path)));
    const names = [...new Set(byRoot.flat())].sort();
    const entries = await Promise.all(names.map((name) => this.#read(name)));
    return entries.filter((entry) => entry !== undefined);
  }

  /** Throws `unknown_skill`. */
  async find(name: string, version = ""): Promise<Skill> {
    const entry = skillName.test(name) ? await this.#read(name) : undefined;
    if (entry === undefined)
      throw unknownSkill(
        name,
        (await this.list()).map((one) => one.name),
      );
    if (version === "") return entry.current;
    const found = entry.versions.find((one) => one.version === version);
    if (found !== undefined) return found;
    throw unknownVersion(
      name,
      version,
      entry.versions.map((one) => one.version),
    );
  }

  async #read(name: string): Promise<SkillEntry | undefined> {
    const byRoot = await Promise.all(this.#roots.map((root) => readSkillFolder(root, name, this.#cache)));
    const usable = byRoot.map((found) => found.filter((one) => this.#isUsable(one)).sort(byVersion));
    const versions = new Map<string, Skill>();
    for (const skill of usable.flat()) if (!versions.has(skill.version)) versions.set(skill.version, skill);
    // A name of the project hides that of the user, newer or not: whoever put it there meant it.
    const current = usable.map(pickCurrent).find((skill) => skill !== undefined);
    return current === undefined ? undefined : { name, current, versions: [...versions.values()].sort(byVersion) };
  }

  #isUsable(found: FoundSkill): found is Skill {
    if (!isBroken(found)) return true;
    if (this.#told.get(found.folder) !== found.stamp) {
      this.#told.set(found.folder, found.stamp);
      const place = `${basename(dirname(found.folder))}/${basename(found.folder)}`;
      this.#log.warn(`the skill in ${place} cannot be used: ${found.problems.join("; ")}`, { folder: found.folder });
    }
    return false;
  }
}

function byVersion(left: Skill, right: Skill): number {
  return compareVersions(left.version, right.version);
}

/** The newest that is meant for use; candidates and archived ones only where there is nothing else. */
function pickCurrent(versions: readonly Skill[]): Skill | undefined {
  const isOpen = ({ status }: Skill) => status !== "Archived" && status !== "Blocked";
  return (
    versions.find((skill) => isOpen(skill) && !isPrerelease(skill.version)) ??
    versions.find(isOpen) ??
    // Blocked before archived: whoever calls it should be told that it is blocked.
    versions.find(({ status }) => status === "Blocked") ??
    versions[0]
  );
}

async function namesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && skillName.test(entry.name))
    .slice(0, skillLimits.maxSkillsPerRoot)
    .map((entry) => entry.name);
}
