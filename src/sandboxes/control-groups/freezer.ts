// Freezes and thaws all members of a control group. Unlike with SIGSTOP, members do not notice it.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface Freezer {
  /** Resolves when all members are frozen, or after a moment: a member that waits for the disk stops later. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** The names of the same files in the two versions. */
const files = {
  1: { control: "freezer.state", frozen: "FROZEN", thawed: "THAWED", state: "freezer.state", isFrozen: /^FROZEN$/m },
  2: { control: "cgroup.freeze", frozen: "1", thawed: "0", state: "cgroup.events", isFrozen: /^frozen 1$/m },
} as const;

const retryMs = 2;
const maxTries = 10;

/** The group must exist when its members are frozen, but not when they are thawed. */
export function createFreezer(version: 1 | 2, folder: string): Freezer {
  const { control, frozen, thawed, state, isFrozen } = files[version];
  return {
    async freeze() {
      await writeFile(join(folder, control), frozen).catch(() => {});
      for (let tries = 0; tries < maxTries; tries++) {
        if (isFrozen.test(await readFile(join(folder, state), "utf8").catch(() => ""))) return;
        await pause(retryMs);
      }
    },
    thaw: () => writeFile(join(folder, control), thawed).catch(() => {}),
  };
}
