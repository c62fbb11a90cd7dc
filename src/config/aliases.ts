// Second spellings of settings in existing configs. They are moved to the first spelling before anything is checked, so
// that the schema and the host need only one.

import { nearest } from "../machinery/nearest.ts";
import type { ConfigPath } from "../machinery/options/problem.ts";

interface ConfigAlias {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

export const configAliases: readonly ConfigAlias[] = [
  alias("server.auth_token", "auth_token"),
  alias("audit_log_path", "audit.path"),
  alias("audit.file", "audit.path"),
  alias("audit.rotate.max_bytes", "audit.max_bytes"),
  alias("audit.rotate.backup_count", "audit.backup_count"),
  alias("snapshot_store.config.root", "snapshot_store.path"),
  alias("snapshot_store.config.path", "snapshot_store.path"),
  alias("global_limits.max_parallel", "global_limits.max_parallel_calls"),
  alias("global_limits.max_workers", "global_limits.max_parallel_calls"),
];

function alias(from: string, to: string): ConfigAlias {
  return { from: from.split("."), to: to.split(".") };
}

type Mapping = Record<string, unknown>;
type Report = (path: ConfigPath, message: string, suggestion?: string) => void;

/** Returns a copy with aliases moved, and for each moved setting the path its value came from. */
export function moveAliases(
  input: Mapping,
  report: Report,
): { config: Mapping; origins: Map<string, readonly string[]> } {
  const config = copyMappings(input, 3) as Mapping;
  const origins = new Map<string, readonly string[]>();
  for (const { from, to } of configAliases) {
    const value = take(config, from);
    if (value === undefined || value === null) continue;
    const place = sectionAt(config, to);
    // A section that is not a mapping is reported later.
    if (place === undefined) continue;
    const key = to.at(-1) as string;
    const other = place[key];
    if (other !== undefined && other !== null) {
      const first = origins.get(to.join(".")) ?? to;
      if (other !== value)
        report(from, `has another value than ${first.join(".")}, which means the same; keep one of them`);
      continue;
    }
    place[key] = value;
    origins.set(to.join("."), from);
  }
  for (const section of aliasSections) removeSection(config, section, report);
  return { config, origins };
}

/** Sections that exist only in the other spelling, such as `audit.rotate`: keys that remain in them are mistakes. */
const aliasSections = [
  ...new Set(configAliases.filter(({ from }) => from.length === 3).map(({ from }) => from.slice(0, 2).join("."))),
];

function removeSection(config: Mapping, name: string, report: Report): void {
  const path = name.split(".");
  const section = take(config, path);
  if (section === undefined || section === null) return;
  if (!isMapping(section)) {
    report(path, "expected a mapping");
    return;
  }
  const known = configAliases
    .filter(({ from }) => from.slice(0, -1).join(".") === name)
    .map(({ from }) => from.at(-1) as string);
  for (const key of Object.keys(section)) report([...path, key], "unknown key", nearest(key, known));
}

function take(config: Mapping, path: readonly string[]): unknown {
  let section: unknown = config;
  for (const step of path.slice(0, -1)) {
    if (!isMapping(section) || !Object.hasOwn(section, step)) return undefined;
    section = section[step];
  }
  const key = path.at(-1) as string;
  if (!isMapping(section) || !Object.hasOwn(section, key)) return undefined;
  const value = section[key];
  delete section[key];
  return value;
}

/** The mapping that holds the last step of a path, created if it is missing. */
function sectionAt(config: Mapping, path: readonly string[]): Mapping | undefined {
  let section = config;
  for (const step of path.slice(0, -1)) {
    const next = section[step] ?? {};
    if (!isMapping(next)) return undefined;
    section[step] = next;
    section = next;
  }
  return section;
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function copyMappings(value: unknown, depth: number): unknown {
  if (!isMapping(value) || depth === 0) return value;
  // fromEntries defines keys; an assignment to `__proto__` would replace the prototype.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyMappings(item, depth - 1)]));
}
