// Stops all members of a control group at once, and lets them go on. They do not notice it, other than a SIGSTOP.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface Freezer {
  /** Resolves when all members stand still, or after a moment: one that waits for the disk stops after that. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** What the two versions call the same. */
const files = {
  1: { control: "freezer.state", frozen: "FROZEN", thawed: "THAWED", state: "freezer.state", isFrozen: /^FROZEN$/m },
  2: { control: "cgroup.freeze", frozen: "1", thawed: "0", state: "cgroup.events", isFrozen: /^frozen 1$/m },
} as const;

const retryMs = 2;
const maxTries = 10;

/** The group must exist when its members are frozen, and need not when they are thawed. */
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
