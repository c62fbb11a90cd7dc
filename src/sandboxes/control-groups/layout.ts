// Finds the folders in which this process may create control groups: its place in the mounted hierarchies.
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

export interface GroupLayout {
  version: 1 | 2;
  /** The folders in which groups are created: one in version 2, one per hierarchy in version 1. */
  parents: { memory: string; pids: string; cpu: string; freezer?: string };
}

/** Best first. None of them has been tested. */
export async function findGroupLayouts(): Promise<GroupLayout[]> {
  const mounts = parseMounts(await readFile("/proc/self/mountinfo", "utf8"));
  const own = parseMembership(await readFile("/proc/self/cgroup", "utf8"));
  return [...(await findUnified(mounts, own)), ...findSeparate(mounts, own)];
}

async function findUnified(mounts: readonly Mount[], own: ReadonlyMap<string, string>): Promise<GroupLayout[]> {
  const mount = mounts.find(({ type }) => type === "cgroup2");
  const place = placeOf(mount, own.get(""));
  if (mount === undefined || place === undefined) return [];
  const layouts: GroupLayout[] = [];
  // A group with members cannot limit groups inside it, so the groups above this process are candidates too.
  for (const folder of ancestors(place, mount.folder)) {
    const controllers = await readFile(join(folder, "cgroup.subtree_control"), "utf8").catch(() => "");
    const enabled = controllers.trim().split(" ");
    if (!enabled.includes("memory") || !enabled.includes("pids")) continue;
    layouts.push({ version: 2, parents: { memory: folder, pids: folder, cpu: folder, freezer: folder } });
  }
  return layouts;
}

function findSeparate(mounts: readonly Mount[], own: ReadonlyMap<string, string>): GroupLayout[] {
  const find = (controller: string) =>
    placeOf(
      mounts.find(({ type, options }) => type === "cgroup" && options.includes(controller)),
      own.get(controller),
    );
  const [memory, pids, cpu] = [find("memory"), find("pids"), find("cpuacct")];
  if (memory === undefined || pids === undefined || cpu === undefined) return [];
  const freezer = find("freezer");
  return [{ version: 1, parents: { memory, pids, cpu, ...(freezer === undefined ? {} : { freezer }) } }];
}

interface Mount {
  /** The part of the hierarchy that is mounted: a container sees only its own part. */
  root: string;
  folder: string;
  type: string;
  options: readonly string[];
}

function parseMounts(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", folder = ""] = before.split(" ");
    const [type = "", , options = ""] = after.split(" ");
    return type.startsWith("cgroup") ? [{ root, folder, type, options: options.split(",") }] : [];
  });
}

/** Controller to path; the unified hierarchy has an empty controller. */
function parseMembership(text: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const controller of controllers?.split(",") ?? []) paths.set(controller, path);
  }
  return paths;
}

function placeOf(mount: Mount | undefined, path: string | undefined): string | undefined {
  if (mount === undefined || path === undefined) return undefined;
  const way = relative(mount.root, path);
  // A path outside of the mounted part belongs to another namespace: only the mounted part can be used.
  return way.startsWith("..") ? mount.folder : join(mount.folder, way);
}

function ancestors(folder: string, root: string): string[] {
  const found = [folder];
  for (let at = folder; at !== root && at !== dirname(at); ) {
    at = dirname(at);
    found.push(at);
  }
  return found;
}
