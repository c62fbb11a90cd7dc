// All skills of a host. Every call lists the file system again, so answers are up to date; only changed files are read
// and parsed.
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Logger } from "../../../plugin/logger.ts";
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

/** All versions of a skill. */
export interface SkillEntry {
  readonly name: string;
  /** The version that a call without a version uses. */
  readonly current: Skill;
  /** Newest first, each version once. If two roots have the same version, the first root wins. */
  readonly versions: readonly Skill[];
}

export class SkillLibrary {
  readonly #roots: readonly SkillRoot[];
  readonly #log: Logger;
  readonly #cache: SkillCache = new Map();
  /** The stamps of broken skills that were logged, so that each problem is logged once. */
  readonly #told = new Map<string, string>();

  /** Roots by precedence: the first wins. */
  constructor(roots: readonly SkillRoot[], log: Logger) {
    this.#roots = roots;
    this.#log = log;
  }

  /** All skills, sorted by name. */
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
    // A skill of the project hides that of the user even if it is older: the project chose it on purpose.
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

/** The newest version that is meant for use. Prereleases, blocked and archived versions only if there is no other. */
function pickCurrent(versions: readonly Skill[]): Skill | undefined {
  const isOpen = ({ status }: Skill) => status !== "Archived" && status !== "Blocked";
  return (
    versions.find((skill) => isOpen(skill) && !isPrerelease(skill.version)) ??
    versions.find(isOpen) ??
    // Blocked before archived, so that a call fails with the reason that the skill is blocked.
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
