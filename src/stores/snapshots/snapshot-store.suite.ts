// The behaviour that every snapshot store must have.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SnapshotStore } from "../../host/ports/snapshot-store.ts";
import type { JsonValue } from "../../protocol/json.ts";

/** Called with the same place again, it opens the same store again. */
export type OpenSnapshotStore = (place: string) => Promise<SnapshotStore>;

export interface SnapshotStoreSuiteOptions {
  open: OpenSnapshotStore;
  /** Names a place that was not used before. */
  newPlace: () => string;
  /** False for a store that forgets when it is closed. */
  isPersistent: boolean;
}

const about = { label: "before the change", created_at: 1_700_000_000.25 };

const hostileKeys = [
  "",
  ".",
  "..",
  "../../etc/passwd",
  "/",
  "/etc/passwd",
  "a/b",
  "a\\b",
  "a",
  "A",
  "a ",
  "a.",
  "a\0",
  "a\0b",
  "a\0c",
  "\0",
  "CON",
  "con",
  "NUL.txt",
  "C:\\Windows",
  "é",
  "e\u0301",
  "\ud800",
  "\udbff",
  "\ufffd",
  "\ufeff",
  "🜁",
  "%2e%2e",
  "'; DROP TABLE snapshots; --",
  "__proto__",
  "constructor",
  "k".repeat(10_000),
  `${"k".repeat(10_000)}l`,
];

export function testSnapshotStore(name: string, { open, newPlace, isPersistent }: SnapshotStoreSuiteOptions): void {
  async function withStore(work: (store: SnapshotStore) => Promise<void>): Promise<void> {
    const store = await open(newPlace());
    try {
      await work(store);
    } finally {
      await store.close();
    }
  }

  describe(name, () => {
    test("load without an id returns the newest snapshot, with an id the snapshot of that id", () =>
      withStore(async (store) => {
        const first = await store.save("session", { count: 1 }, about);
        const second = await store.save("session", { count: 2 }, { label: "", created_at: 5 });

        expect(await store.load("session")).toEqual({ info: second, state: { count: 2 } });
        expect(await store.load("session", first.snapshot_id)).toEqual({ info: first, state: { count: 1 } });
        expect(first).toEqual({ ...about, snapshot_id: first.snapshot_id, bytes: '{"count":1}'.length });
      }));

    test("an unknown key or id is undefined, and an empty list", () =>
      withStore(async (store) => {
        const { snapshot_id } = await store.save("session", {}, about);

        expect(await store.load("other")).toBeUndefined();
        expect(await store.load("other", snapshot_id)).toBeUndefined();
        expect(await store.list("other")).toEqual([]);
        const strangers = [
          "",
          "..",
          `${snapshot_id}\0`,
          ` ${snapshot_id}`,
          `../${snapshot_id}`,
          "9999999999",
          "1",
          "0".repeat(500),
        ];
        for (const stranger of strangers) expect(await store.load("session", stranger), stranger).toBeUndefined();
      }));

    test("list is newest first and leaves out the states", () =>
      withStore(async (store) => {
        const saved = [];
        for (let count = 0; count < 12; count++) saved.push(await store.save("session", { count }, about));

        expect(await store.list("session")).toEqual(saved.toReversed());
      }));

    test("delete removes one snapshot, or all of a key, and no other", () =>
      withStore(async (store) => {
        const first = await store.save("session", 1, about);
        const second = await store.save("session", 2, about);
        const other = await store.save("other", 3, about);

        await store.delete("session", first.snapshot_id);
        expect(await store.list("session")).toEqual([second]);
        await store.delete("session");
        expect(await store.list("session")).toEqual([]);
        expect(await store.load("session", second.snapshot_id)).toBeUndefined();
        expect(await store.list("other")).toEqual([other]);
      }));

    test("deleting a snapshot that does not exist changes nothing", () =>
      withStore(async (store) => {
        const saved = await store.save("session", 1, about);

        await store.delete("other");
        await store.delete("other", saved.snapshot_id);
        for (const stranger of ["", "..", "*", `${saved.snapshot_id}\0`, "9999999999"])
          await store.delete("session", stranger);

        expect(await store.list("session")).toEqual([saved]);
      }));

    test("the id of a deleted snapshot is not given again", () =>
      withStore(async (store) => {
        await store.save("session", 1, about);
        const deleted = await store.save("session", 2, about);
        await store.delete("session", deleted.snapshot_id);

        const next = await store.save("session", 3, about);

        expect(next.snapshot_id > deleted.snapshot_id).toBe(true);
        expect(await store.load("session", deleted.snapshot_id)).toBeUndefined();
        expect((await store.load("session"))?.state).toBe(3);
      }));

    test("hostile keys are kept apart", () =>
      withStore(async (store) => {
        for (const key of hostileKeys) await store.save(key, key, { label: key, created_at: 1 });
        for (const key of hostileKeys) {
          const loaded = await store.load(key);
          expect(loaded?.state).toBe(key);
          expect(loaded?.info.label).toBe(key);
          expect(await store.list(key)).toHaveLength(1);
        }
      }));

    test("any two different keys are kept apart, and any label and state are returned unchanged", () =>
      withStore(async (store) => {
        const anyText = fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 20 });
        const anyKey = fc.oneof(anyText, fc.constantFrom(...hostileKeys));
        // JSON has no negative zero, and the protocol drops the key `__proto__`.
        const anyState = fc
          .jsonValue()
          .map((value) => JSON.parse(JSON.stringify(value).replaceAll("__proto__", "proto")) as JsonValue);
        await fc.assert(
          fc.asyncProperty(
            fc.uniqueArray(anyKey, { minLength: 2, maxLength: 2 }),
            anyState,
            anyText,
            async ([one, two], state, label) => {
              if (one === undefined || two === undefined) return;
              const info = await store.save(one, state, { label, created_at: 1 });
              expect(await store.load(one)).toEqual({ info, state });
              expect(info.label).toBe(label);
              expect(await store.list(two)).toEqual([]);
              expect(await store.load(two, info.snapshot_id)).toBeUndefined();
              await store.delete(two);
              expect(await store.list(one)).toEqual([info]);
              await store.delete(one);
            },
          ),
          { numRuns: 60 },
        );
      }));

    test("simultaneous saves to a key get distinct ids that ascend in the order of the calls", () =>
      withStore(async (store) => {
        const counts = Array.from({ length: 25 }, (_, index) => index);
        const saved = await Promise.all(counts.map((count) => store.save("session", { count }, about)));

        const ids = saved.map(({ snapshot_id }) => snapshot_id);
        expect(new Set(ids).size).toBe(25);
        expect(ids).toEqual(ids.toSorted());
        for (const [count, id] of ids.entries()) expect((await store.load("session", id))?.state).toEqual({ count });
      }));

    test("a state of five megabytes is returned whole", () =>
      withStore(async (store) => {
        const state = { lines: Array.from({ length: 5000 }, (_, index) => `${index} ${"ä€🜁x".repeat(100)}`) };
        const info = await store.save("session", state, about);

        expect(info.bytes).toBeGreaterThan(5_000_000);
        expect((await store.load("session"))?.state).toEqual(state);
      }));

    test("a saved state does not change when the caller changes its object or the returned one", () =>
      withStore(async (store) => {
        const state = { list: [1] };
        const saving = store.save("session", state, about);
        state.list.push(2);
        const info = await saving;
        const changeable = info as { label: string };
        changeable.label = "changed";
        const loaded = await store.load("session");
        Object.assign(loaded?.state as object, { list: "changed" });
        Object.assign(loaded?.info as object, { label: "changed" });

        const again = await store.load("session");
        expect(again?.state).toEqual({ list: [1] });
        expect(again?.info.label).toBe(about.label);
      }));

    test("closing twice is closing once, and a closed store rejects", async () => {
      const store = await open(newPlace());
      await store.close();
      await store.close();

      await expect(store.save("session", 1, about)).rejects.toThrow("closed");
      await expect(store.load("session")).rejects.toThrow("closed");
      await expect(store.list("session")).rejects.toThrow("closed");
      await expect(store.delete("session")).rejects.toThrow("closed");
    });

    // A store in memory cannot be opened again.
    if (!isPersistent) return;

    test("snapshots and the count of ids survive closing and opening again", async () => {
      const place = newPlace();
      const before = await open(place);
      const kept = await before.save("session", { count: 1 }, about);
      const deleted = await before.save("session", { count: 2 }, about);
      await before.delete("session", deleted.snapshot_id);
      await before.close();

      const after = await open(place);
      expect(await after.load("session")).toEqual({ info: kept, state: { count: 1 } });
      const next = await after.save("session", { count: 3 }, about);
      expect(next.snapshot_id > deleted.snapshot_id).toBe(true);
      await after.close();
    });

    test("two stores at the same place see each other's snapshots and never share an id", async () => {
      const place = newPlace();
      const stores = await Promise.all([open(place), open(place)]);
      const saves = stores.flatMap((store, owner) =>
        Array.from({ length: 20 }, (_, count) => store.save("session", { owner, count }, about)),
      );
      const ids = (await Promise.all(saves)).map(({ snapshot_id }) => snapshot_id);

      expect(new Set(ids).size).toBe(40);
      for (const store of stores) {
        expect((await store.list("session")).map(({ snapshot_id }) => snapshot_id)).toEqual(ids.toSorted().reverse());
        await store.close();
      }
    });
  });
}
