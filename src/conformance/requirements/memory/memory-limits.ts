// Entries that expire, are too many, are wrong or are written by two.
import { setTimeout as sleep } from "node:timers/promises";
import { asArray, asObject, asObjects, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { openMemory, tiers } from "./opened-memory.ts";

const needs = { capability: "memory" } as const;

export const memoryLimits: readonly Requirement[] = [
  {
    id: "MEM-16",
    title:
      "beyond the limits of a tier entries are evicted, or rejected with memory_full, but never lost without an error",
    source: "wire facts M7; error codes page",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      const entries = Array.from({ length: 100 }, (_, at) => ({ key: `k${at}`, content: at, tier: "working" }));
      const answer = checkType(await open.tryStore(...entries), "memory/store/resp");
      const [stored, refused] = [asArray(answer.stored, "stored").length, asArray(answer.errors, "errors").length];
      checkEqual(stored + refused, entries.length, "stored and refused together");
      const { total } = await open.find({ tier: "working" });
      if (refused === 0) return check(Number(total) <= stored, `${total} entries of ${stored} that were stored`);
      checkEqual(total, stored, "entries afterwards");
      checkError(await open.tryStore({ key: "one more", content: 1, tier: "working" }), "memory_full");
    },
  },
  {
    id: "MEM-17",
    title: "a ttl of 0 or null is for ever, a fraction is taken, and the answer carries a whole number",
    source: "wire facts M8; 3.13",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        for (const [ttl, expected] of [
          [0, 0],
          [null, 0],
          [60, 60],
          [59.5, 60],
        ])
          checkEqual(
            only(await open.store({ key: "a", content: 1, ttl, tier }), "entry").ttl,
            expected,
            `ttl of ${ttl}`,
          );
      }
    },
  },
  {
    id: "MEM-18",
    title: "an entry whose ttl is over is not found, not counted and not there to be forgotten",
    source: "wire facts M5 (ttl)",
    level: "should",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers)
        await open.store(
          { key: "a", content: "brief word", ttl: 1, tier },
          { key: "b", content: "lasting word", tier },
        );
      await sleep(1_200);
      for (const tier of tiers) {
        for (const fields of [{}, { query: "word" }, { keys: ["a", "b"] }]) {
          const { entries, total } = await open.find({ tier, ...fields });
          checkEqual([entries.map(({ content }) => content), total], [["lasting word"], 1], `found in ${tier}`);
        }
        checkEqual(await open.forget({ tier, keys: ["a"] }), 0, "deleted");
      }
    },
  },
  {
    id: "MEM-19",
    title: "of several entries the valid ones are stored, and each invalid one gets its error",
    source: "wire facts M7; guide: memory",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        const answer = checkType(
          await open.tryStore(
            { key: "good", content: 1, tier },
            { key: "", content: 2, tier },
            { key: "also good", content: 3, tier },
          ),
          "memory/store/resp",
        );
        checkEqual(
          asObjects(answer.stored, "stored").map(({ content }) => content),
          [1, 3],
          "stored",
        );
        check(typeof only(asArray(answer.errors, "errors"), "error") === "string", "errors should be texts");
        checkEqual((await open.find({ tier })).total, 2, `entries in ${tier}`);
      }
    },
  },
  {
    id: "MEM-20",
    title:
      "an entry is stored only at the version that if_version names; otherwise version_conflict names the current version",
    source: "extension: if_version",
    level: "extension",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        const { version } = only(await open.store({ key: "a", content: "one", tier, if_version: 0 }), "entry");
        const next = only(await open.store({ key: "a", content: "two", tier, if_version: version }), "entry");
        for (const if_version of [version, 0]) {
          const late = await open.tryStore({ key: "a", content: "late", tier, if_version });
          const { errors } = asObject(checkError(late, "version_conflict").detail, "detail");
          checkEqual(only(asObjects(errors, "detail.errors"), "error").version, next.version, "version now");
        }
        checkEqual(await open.contents({ tier }), ["two"], `contents in ${tier}`);
      }
    },
  },
];
