// Limits a whole tree of processes with Linux control groups, if this process may create them.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isAbandoned, killIfAlive, processMark } from "../../machinery/processes/process-life.ts";
import type { SandboxLimits } from "../../plugin/ports/sandbox.ts";
import { createFreezer, type Freezer } from "./freezer.ts";
import { findGroupLayouts, type GroupLayout } from "./layout.ts";

export interface ControlGroup {
  /** A process joins by writing 0 to all of these files. */
  readonly joinFiles: readonly string[];
  wasOutOfMemory(): boolean;
  /** CPU time of all members since the beginning, including ended ones. */
  cpuSeconds(): number;
  /** Undefined if members cannot be frozen here. */
  readonly freezer: Freezer | undefined;
  kill(): Promise<void>;
  /** Kills the remaining members first. */
  remove(): Promise<void>;
}

export interface ControlGroups {
  readonly version: 1 | 2;
  create(limits: GroupLimits): Promise<ControlGroup>;
}

type GroupLimits = Pick<SandboxLimits, "memoryBytes" | "processes">;

/** The names of the same files in the two versions. */
const fileNames = {
  1: {
    memory: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    outOfMemory: "memory.oom_control",
    cpu: "cpuacct.usage",
  },
  2: { memory: "memory.max", swap: "memory.swap.max", outOfMemory: "memory.events", cpu: "cpu.stat" },
} as const;

const patienceMs = 3_000;
const retryMs = 5;

/** Undefined if none can be created: not Linux, no permission, or a missing controller. */
export async function findControlGroups(): Promise<ControlGroups | undefined> {
  for (const layout of await findGroupLayouts().catch(() => [])) {
    const groups = createControlGroups(layout);
    try {
      const trial = await groups.create({ memoryBytes: 64 * 1024 * 1024, processes: 8 });
      await trial.remove();
      await removeAbandoned(layout);
      return groups;
    } catch {
      // The next layout may work.
    }
  }
  return undefined;
}

function createControlGroups(layout: GroupLayout): ControlGroups {
  return {
    version: layout.version,
    async create(limits) {
      const name = `${processMark()}${randomUUID()}`;
      const group = openGroup(layout, name);
      try {
        for (const folder of foldersOf(layout, name)) await mkdir(folder);
        await setLimits(layout, name, limits);
        return group;
      } catch (error) {
        await group.remove().catch(() => {});
        throw error;
      }
    },
  };
}

function foldersOf({ parents }: GroupLayout, name: string): string[] {
  return [...new Set(Object.values(parents))].map((parent) => join(parent, name));
}

async function setLimits({ version, parents }: GroupLayout, name: string, limits: GroupLimits): Promise<void> {
  const files = fileNames[version];
  await writeFile(join(parents.memory, name, files.memory), String(limits.memoryBytes));
  // Version 1 counts memory and swap together. A kernel without swap accounting lacks the file.
  const swap = version === 1 ? String(limits.memoryBytes) : "0";
  await writeFile(join(parents.memory, name, files.swap), swap).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await writeFile(join(parents.pids, name, "pids.max"), String(limits.processes));
}

function openGroup(layout: GroupLayout, name: string): ControlGroup {
  const { version, parents } = layout;
  const files = fileNames[version];
  const folders = foldersOf(layout, name);
  const freezer = parents.freezer === undefined ? undefined : createFreezer(version, join(parents.freezer, name));

  /** Empty if the group was removed by another process. */
  function read(parent: string, file: string): string {
    try {
      return readFileSync(join(parent, name, file), "utf8");
    } catch {
      return "";
    }
  }

  async function kill(): Promise<void> {
    const deadline = Date.now() + patienceMs;
    // Members that cannot fork cannot escape being killed.
    await writeFile(join(parents.pids, name, "pids.max"), "0").catch(() => {});
    while (Date.now() < deadline) {
      const pids = await members();
      if (pids.length === 0) return;
      for (const pid of pids) killIfAlive(pid);
      // In version 1, frozen members die only when they are thawed.
      await freezer?.thaw();
      await pause();
    }
  }

  /** Members of any of its folders: a process that is joining is in the first folder before it is in the last. */
  async function members(): Promise<number[]> {
    const texts = folders.map((folder) => readFile(join(folder, "cgroup.procs"), "utf8").catch(() => ""));
    const lines = (await Promise.all(texts)).flatMap((text) => text.split("\n"));
    return lines.map(Number).filter((pid) => pid > 0);
  }

  return {
    joinFiles: folders.map((folder) => join(folder, "cgroup.procs")),
    wasOutOfMemory: () => Number(/^oom_kill (\d+)$/m.exec(read(parents.memory, files.outOfMemory))?.[1] ?? 0) > 0,
    cpuSeconds() {
      const text = read(parents.cpu, files.cpu);
      return version === 1 ? Number(text) / 1e9 : Number(/^usage_usec (\d+)$/m.exec(text)?.[1] ?? 0) / 1e6;
    },
    freezer,
    kill,
    async remove() {
      await kill();
      for (const folder of folders) await removeFolder(folder, kill);
    },
  };
}

/** A group is busy until its last zombie is reaped, or if a process joined at the last moment. */
async function removeFolder(folder: string, kill: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      return await rmdir(folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      if (code !== "EBUSY" || Date.now() > deadline) throw error;
      await kill();
      await pause();
    }
  }
}

/** Removes groups of hosts that were killed. Each start of a service may have had a place of its own. */
async function removeAbandoned({ version, parents }: GroupLayout): Promise<void> {
  for (const parent of new Set(Object.values(parents))) {
    const beside = await readdir(dirname(parent), { withFileTypes: true }).catch(() => []);
    const places = beside.filter((entry) => entry.isDirectory()).map(({ name }) => join(dirname(parent), name));
    for (const place of new Set([parent, ...places])) {
      const names = await readdir(place).catch(() => []);
      for (const name of names.filter(isAbandoned)) {
        // Their members died with the host, except for frozen ones: in version 1 they die when they are thawed.
        if (parent === parents.freezer) await createFreezer(version, join(place, name)).thaw();
        await rmdir(join(place, name)).catch(() => {});
      }
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, retryMs));
}
