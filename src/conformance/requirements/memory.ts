// The memory capability within one session. What sessions and agents share of it is in memory-sharing.ts.
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only } from "../check.ts";
import { type Peer, uniqueKey } from "../peer.ts";
import type { Requirement } from "../requirement.ts";

const needs = { capability: "memory" } as const;

export interface OpenMemory {
  readonly id: string;
  /** Stores entries and insists that all were. */
  store(...entries: object[]): Promise<JsonObject[]>;
  /** Stores entries and returns whatever the answer is. */
  tryStore(...entries: object[]): Promise<Message>;
  find(fields?: object): Promise<{ entries: JsonObject[]; total: unknown }>;
  /** Contents of what is found, in its order. */
  contents(fields?: object): Promise<unknown[]>;
  forget(fields: object): Promise<unknown>;
}

/** A memory in this session; a namespace that no other requirement has where none is given. */
export async function openMemory(peer: Peer, namespace = uniqueKey(peer), scope: object = {}): Promise<OpenMemory> {
  const init = checkType(await peer.request("memory/init/req", { namespace, scope }), "memory/init/resp");
  const memory_id = String(init.memory_id);
  const tryStore: OpenMemory["tryStore"] = (...entries) => peer.request("memory/store/req", { memory_id, entries });
  const find: OpenMemory["find"] = async (fields = {}) => {
    const answer = checkType(
      await peer.request("memory/retrieve/req", { memory_id, ...fields }),
      "memory/retrieve/resp",
    );
    return { entries: objects(answer.entries, "entries"), total: answer.total };
  };
  return {
    id: memory_id,
    tryStore,
    find,
    async store(...entries) {
      const answer = checkType(await tryStore(...entries), "memory/store/resp");
      checkEqual(answer.errors, [], "errors");
      return objects(answer.stored, "stored");
    },
    contents: async (fields) => (await find(fields)).entries.map(({ content }) => content),
    async forget(fields) {
      const answer = await peer.request("memory/forget/req", { memory_id, ...fields });
      return checkType(answer, "memory/forget/resp").deleted;
    },
  };
}

function objects(value: Parameters<typeof asArray>[0], what: string): JsonObject[] {
  return asArray(value, what).map((item) => asObject(item, `${what}[]`));
}

const tiers = ["working", "episodic", "semantic"] as const;

export const memory: readonly Requirement[] = [
  {
    id: "MEM-1",
    title: "a memory is initialised by namespace and scope, and the same two give the same memory",
    source: "wire facts M10",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const request = { namespace: uniqueKey(peer), scope: { user: "ada" }, metadata: { any: "thing" } };
      const answer = checkType(await peer.request("memory/init/req", request), "memory/init/resp");
      checkEqual([answer.namespace, answer.success], [request.namespace, true], "namespace and success");
      checkEqual((await peer.request("memory/init/req", request)).memory_id, answer.memory_id, "memory_id");
      const other = await peer.request("memory/init/req", { ...request, scope: { user: "bob" } });
      check(other.memory_id !== answer.memory_id, "another scope should be another memory");
    },
  },
  {
    id: "MEM-2",
    title: "a store is answered with the entries that it stored and no others, each with its key as an object",
    source: "wire facts M4; 3.13",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store({ key: "before", content: 0, tier });
        const entry = { key: { a: 1 }, content: "x", tier, tags: ["t"], source: "test", score: 0.5, ttl: 60 };
        const stored = only(await open.store(entry), `entry stored in ${tier}`);
        for (const [field, value] of Object.entries(entry)) checkEqual(stored[field], value, `${field} in ${tier}`);
        for (const field of ["created_at", "updated_at"])
          check(typeof stored[field] === "number", `${field}: ${stored[field]}`);
      }
    },
  },
  {
    id: "MEM-3",
    title: "a key is a text or an object, and the order of its fields does not matter",
    source: "wire facts M1",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "text", content: 1, tier },
          { key: { b: [1, { d: 1, c: 2 }], a: "x" }, content: 2, tier },
        );
        checkEqual(await open.contents({ tier, keys: ["text"] }), [1], `found by text in ${tier}`);
        const same = { a: "x", b: [1, { c: 2, d: 1 }] };
        checkEqual(await open.contents({ tier, keys: [same] }), [2], `found by object in ${tier}`);
        checkEqual(await open.contents({ tier, keys: [{ a: "x" }, ""] }), [], `found by another key in ${tier}`);
      }
    },
  },
  {
    id: "MEM-4",
    title: "content of any JSON comes back as it was",
    source: "SDK models (content: any)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      const contents = [null, false, 0, -1.5, "", "\u2028 é 🜚 \u0000", [], {}, { deep: [{ er: [null] }] }];
      for (const tier of tiers) {
        await open.store(...contents.map((content, at) => ({ key: `k${at}`, content, tier })));
        for (const [at, content] of contents.entries())
          checkEqual(await open.contents({ tier, keys: [`k${at}`] }), [content], `content ${at} in ${tier}`);
      }
    },
  },
  {
    id: "MEM-5",
    title: "a request without a memory_id means the session's memory, also where none was initialised",
    source: "wire facts M2",
    level: "must",
    needs,
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      const entries = [{ key: uniqueKey(peer), content: "in the default memory", tier: "working" }];
      checkType(await peer.request("memory/store/req", { entries }), "memory/store/resp");
      const found = await peer.request("memory/retrieve/req", { tier: "working" });
      checkEqual(objects(found.entries, "entries").length, 1, "entries of the default memory");
      const open = await openMemory(peer);
      await open.store({ key: "a", content: "in the last one", tier: "working" });
      const last = await peer.request("memory/retrieve/req", { tier: "working" });
      checkEqual(only(objects(last.entries, "entries"), "entry").content, "in the last one", "content");
    },
  },
  {
    id: "MEM-6",
    title: "a memory_id that the session has not initialised is answered with memory_not_found",
    source: "wire facts M3; error codes page",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const type of ["memory/store/req", "memory/retrieve/req", "memory/forget/req"])
        for (const memory_id of ["no-such-memory", "__proto__"])
          checkError(await peer.request(type, { memory_id, entries: [] }), "memory_not_found");
    },
  },
  {
    id: "MEM-7",
    title: "recall and search are other names of retrieve, with and without /req, and are answered in their own family",
    source: "wire facts 3.3 (types)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const open = await openMemory(peer);
      await open.store({ key: "a", content: "the red fox", tier: "semantic" });
      for (const family of ["memory/recall", "memory/search"]) {
        for (const type of [family, `${family}/req`]) {
          const answer = checkType(await peer.request(type, { memory_id: open.id, query: "fox" }), `${family}/resp`);
          checkEqual([objects(answer.entries, "entries").length, answer.total], [1, 1], `found by ${type}`);
        }
      }
    },
  },
  {
    id: "MEM-8",
    title: "all conditions of a retrieve must hold: keys, tags, words and tier",
    source: "wire facts M5 (fields are ANDed)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "a", content: "red apple", tags: ["fruit", "red"], tier },
          { key: "b", content: "red brick", tags: ["stone", "red"], tier },
          { key: "c", content: "green apple", tags: ["fruit"], tier },
        );
        const found = async (fields: object) => (await open.contents({ tier, ...fields })).sort();
        checkEqual(await found({ tags: ["red"] }), ["red apple", "red brick"], `one tag in ${tier}`);
        checkEqual(await found({ tags: ["fruit", "red"] }), ["red apple"], `two tags in ${tier}`);
        checkEqual(await found({ tags: ["fruit"], keys: ["b", "c"] }), ["green apple"], `tag and keys in ${tier}`);
        checkEqual(await found({ query: "apple", tags: ["red"] }), ["red apple"], `words and tag in ${tier}`);
        checkEqual(await found({ query: "apple", keys: ["b"] }), [], `words and key in ${tier}`);
      }
      checkEqual((await open.find({ keys: ["a"] })).total, 3, "total in all tiers");
    },
  },
  {
    id: "MEM-9",
    title: "with tags_match any, one of the tags is enough",
    source: "wire facts M5; extension: tags_match",
    level: "extension",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "a", content: 1, tags: ["x"], tier },
          { key: "b", content: 2, tags: ["y"], tier },
          { key: "c", content: 3, tags: ["z"], tier },
        );
        const found = await open.contents({ tier, tags: ["x", "y"], tags_match: "any" });
        checkEqual(found.sort(), [1, 2], `found in ${tier}`);
      }
    },
  },
  {
    id: "MEM-10",
    title: "total counts what matches before the limit",
    source: "wire facts M5 (docs: before)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        const entries = Array.from({ length: 15 }, (_, at) => ({ key: `k${at}`, content: "word", tier }));
        await open.store(...entries);
        for (const [fields, count] of [
          [{}, 10],
          [{ limit: 3 }, 3],
          [{ limit: 3, query: "word" }, 3],
          [{ limit: 100 }, 15],
          [{ limit: 0 }, 0],
        ] as const) {
          const found = await open.find({ tier, ...fields });
          checkEqual(
            [found.entries.length, found.total],
            [count, 15],
            `entries and total of ${JSON.stringify(fields)}`,
          );
        }
      }
    },
  },
  {
    id: "MEM-11",
    title: "a query finds what has one of its words, best match first, and min_score leaves out the rest",
    source: "wire facts M5 (query, min_score)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "a", content: "the river is long and runs past many towns on its way to the distant sea", tier },
          { key: "b", content: "river bank", tier },
          { key: "c", content: "a mountain", tier },
        );
        const { entries, total } = await open.find({ tier, query: "RIVER bank" });
        checkEqual(
          [entries.map(({ key }) => asObject(key, "key").key), total],
          [["b", "a"], 2],
          `found in ${tier}, best first`,
        );
        const [best, second] = entries.map(({ score }) => Number(score));
        check(best !== undefined && second !== undefined && best > second, `scores: ${best}, ${second}`);
        checkEqual((await open.find({ tier, query: "river bank", min_score: best })).total, 1, `min_score in ${tier}`);
      }
    },
  },
  {
    id: "MEM-12",
    title: "a query of punctuation or search syntax is words like any other, and never an error",
    source: "hostile input",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      await open.store(...tiers.map((tier) => ({ key: "a", content: "plain words", tier })));
      for (const query of ['"', "*", "a AND", "NEAR(", "col:x", "'; DROP TABLE entries; --", "-words", "(", "^", "\0"])
        for (const tier of tiers) await open.find({ tier, query });
      checkEqual((await open.find()).total, 3, "total afterwards");
    },
  },
  {
    id: "MEM-13",
    title: "storing a key again replaces the entry and keeps when it was created",
    source: "SDK models (created_at, updated_at)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        const first = only(await open.store({ key: "a", content: "one", tier }), "entry");
        const second = only(await open.store({ key: { key: "a" }, content: "two", tier }), "entry");
        checkEqual(second.created_at, first.created_at, "created_at");
        check(Number(second.updated_at) >= Number(first.updated_at), "updated_at should not go back");
        checkEqual(await open.contents({ tier }), ["two"], `contents in ${tier}`);
        checkEqual(await open.contents({ tier, query: "one" }), [], `found by old words in ${tier}`);
      }
    },
  },
  {
    id: "MEM-14",
    title: "forget deletes by key, text or object, and by tags, all conditions together, and says how many",
    source: "wire facts M6",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "a", content: 1, tags: ["x"], tier },
          { key: { id: 2 }, content: 2, tags: ["x"], tier },
          { key: "c", content: 3, tags: ["y"], tier },
          { key: "d", content: 4, tags: ["y", "x"], tier },
        );
        checkEqual(await open.forget({ tier, keys: ["a"], tags: ["y"] }), 0, "deleted by conditions that exclude");
        checkEqual(await open.forget({ tier, keys: ["a", { id: 2 }, "nothing"] }), 2, "deleted by keys");
        checkEqual(await open.forget({ tier, tags: ["y", "x"] }), 1, "deleted by tags");
        checkEqual(await open.contents({ tier }), [3], `what is left in ${tier}`);
      }
    },
  },
  {
    id: "MEM-15",
    title: "forget with a tier alone clears that tier, and without a tier it is the episodic one",
    source: "wire facts M6",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      await open.store(...tiers.map((tier) => ({ key: "a", content: tier, tier })));
      checkEqual(await open.forget({}), 1, "deleted without a tier");
      checkEqual((await open.contents()).sort(), ["semantic", "working"], "what is left");
      checkEqual(await open.forget({ tier: "working" }), 1, "deleted from the working tier");
      checkEqual(await open.contents(), ["semantic"], "what is left at last");
    },
  },
  {
    id: "MEM-16",
    title: "beyond the limits of a tier entries are evicted, or refused with memory_full, but nothing fails in silence",
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
    title: "of several entries the good ones are stored, and each of the others has its error",
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
          objects(answer.stored, "stored").map(({ content }) => content),
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
      "an entry is stored only at the version that if_version names; otherwise version_conflict tells the version now",
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
          checkEqual(only(objects(errors, "detail.errors"), "error").version, next.version, "version now");
        }
        checkEqual(await open.contents({ tier }), ["two"], `contents in ${tier}`);
      }
    },
  },
  {
    id: "MEM-21",
    title: "entries are found by when they happened, newest first",
    source: "extension: event_at, since, until",
    level: "extension",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          ...[200, 100, 300].map((event_at) => ({ key: `at ${event_at}`, content: event_at, event_at, tier })),
        );
        checkEqual(await open.contents({ tier }), [300, 200, 100], `order in ${tier}`);
        checkEqual(await open.contents({ tier, since: 200 }), [300, 200], "since");
        checkEqual(await open.contents({ tier, since: 100, until: 300 }), [200, 100], "since and until");
      }
    },
  },
];
