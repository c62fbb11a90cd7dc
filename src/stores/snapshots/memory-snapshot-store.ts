// Snapshots that live as long as this process: for tests, and for hosts that fork sessions but need not outlive a crash.
import type { SnapshotStore, StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import { parseJson, writeJson } from "../../protocol/json.ts";
import { toSnapshotId } from "./snapshot-id.ts";

interface Shelf {
  lastNumber: number;
  /**
   * By id, in the order of saving. The state is text, so that later changes to the object have no effect and its size
   * is known.
   */
  readonly snapshots: Map<string, { info: StoredSnapshot; text: string }>;
}

export function createMemorySnapshotStore(): SnapshotStore {
  const shelves = new Map<string, Shelf>();
  let isClosed = false;

  function shelfOf(key: string): Shelf | undefined {
    if (isClosed) throw new Error("the snapshot store is closed");
    return shelves.get(key);
  }

  return {
    async save(key, state, { label, created_at }) {
      const shelf = shelfOf(key) ?? { lastNumber: 0, snapshots: new Map() };
      const text = writeJson(state);
      shelf.lastNumber += 1;
      const info = { snapshot_id: toSnapshotId(shelf.lastNumber), label, created_at, bytes: Buffer.byteLength(text) };
      shelf.snapshots.set(info.snapshot_id, { info, text });
      shelves.set(key, shelf);
      return { ...info };
    },

    async load(key, snapshotId) {
      const snapshots = shelfOf(key)?.snapshots;
      const found = snapshotId === undefined ? [...(snapshots?.values() ?? [])].at(-1) : snapshots?.get(snapshotId);
      return found && { info: { ...found.info }, state: parseJson(found.text) };
    },

    async list(key) {
      const snapshots = shelfOf(key)?.snapshots.values() ?? [];
      return [...snapshots].map(({ info }) => ({ ...info })).reverse();
    },

    async delete(key, snapshotId) {
      const shelf = shelfOf(key);
      if (snapshotId === undefined) shelves.delete(key);
      else shelf?.snapshots.delete(snapshotId);
    },

    async close() {
      isClosed = true;
      shelves.clear();
    },
  };
}
