import { asObjects, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import { uniqueKey } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { openMemory, tiers } from "./opened-memory.ts";

const needs = { capability: "memory" } as const;

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
    title: "content of any JSON is returned unchanged",
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
    title: "a request without a memory_id uses the session's memory, even if none was initialised",
    source: "wire facts M2",
    level: "must",
    needs,
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      const entries = [{ key: uniqueKey(peer), content: "in the default memory", tier: "working" }];
      checkType(await peer.request("memory/store/req", { entries }), "memory/store/resp");
      const found = await peer.request("memory/retrieve/req", { tier: "working" });
      checkEqual(asObjects(found.entries, "entries").length, 1, "entries of the default memory");
      const open = await openMemory(peer);
      await open.store({ key: "a", content: "in the last one", tier: "working" });
      const last = await peer.request("memory/retrieve/req", { tier: "working" });
      checkEqual(only(asObjects(last.entries, "entries"), "entry").content, "in the last one", "content");
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
          checkEqual([asObjects(answer.entries, "entries").length, answer.total], [1, 1], `found by ${type}`);
        }
      }
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
    title: "forget deletes by key, text or object, and by tags, all conditions together, and returns the number",
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
    title: "forget with only a tier clears that tier, and without a tier the episodic one",
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
];
