// The contents of a persistent snapshot store after its process was killed in the middle of saving.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import type { OpenSnapshotStore } from "./snapshots/snapshot-store.suite.ts";

export interface KilledProcessSuiteOptions {
  open: OpenSnapshotStore;
  newPlace: () => string;
  /** A module and an expression in its exports, as `store`, that opens the store at `place`. */
  module: URL;
  openInChild: string;
}

export function testKilledProcess(name: string, options: KilledProcessSuiteOptions): void {
  // With small states the process is killed between the steps of a save, with large states in the middle of a write.
  test.each([
    { size: 10, acknowledged: 40 },
    { size: 3_000_000, acknowledged: 4 },
    { size: 3_000_000, acknowledged: 7 },
  ])(
    `${name} keeps every acknowledged snapshot and no partial one when it is killed ($size bytes, after $acknowledged)`,
    async ({ size, acknowledged }) => {
      const place = options.newPlace();
      const ids = await saveUntilKilled(place, size, acknowledged, options);

      const store = await options.open(place);
      const listed = (await store.list("session")).map(({ snapshot_id }) => snapshot_id);
      expect(listed).toEqual(expect.arrayContaining(ids));
      // The last snapshot may have been saved without having been acknowledged.
      expect(listed.length - ids.length).toBeLessThanOrEqual(1);
      for (const id of listed) {
        const loaded = await store.load("session", id);
        expect(loaded?.state).toEqual({ count: expect.any(Number), filler: "x".repeat(size) });
      }
      const next = await store.save("session", "after", { label: "", created_at: 1 });
      expect(listed.every((id) => id < next.snapshot_id)).toBe(true);
      expect((await store.load("session"))?.state).toBe("after");
      await store.close();
    },
  );
}

async function saveUntilKilled(
  place: string,
  size: number,
  acknowledged: number,
  { module, openInChild }: KilledProcessSuiteOptions,
): Promise<string[]> {
  const script = `
    const store = await import(${JSON.stringify(module.href)});
    const place = ${JSON.stringify(place)};
    const opened = await ${openInChild};
    for (let count = 1; ; count++) {
      const state = { count, filler: "x".repeat(${size}) };
      const { snapshot_id } = await opened.save("session", state, { label: "", created_at: count });
      console.log(snapshot_id);
    }`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const ids: string[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      ids.push(line);
      if (ids.length === acknowledged) child.kill("SIGKILL");
    }
  } finally {
    child.kill("SIGKILL");
  }
  expect(await exited).toEqual([null, "SIGKILL"]);
  return ids;
}
