// Visibility: working memory belongs to a session, episodic to an agent, semantic to all agents of a namespace.
import { checkEqual, checkError } from "../../check.ts";
import { sharedHost } from "../../link.ts";
import { uniqueKey } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { openMemory } from "./opened-memory.ts";

const common = { needs: { capability: "memory" }, transports: sharedHost } as const;
const everywhere = ["working", "episodic", "semantic"].map((tier) => ({ key: "secret", content: tier, tier }));

export const memorySharing: readonly Requirement[] = [
  {
    ...common,
    id: "MEM-22",
    title: "episodic and semantic memory of an agent outlast the session; working memory does not leave it",
    source: "wire facts M9",
    level: "must",
    async run({ connectAs }) {
      const first = await connectAs("conformance");
      const namespace = uniqueKey(first);
      await (await openMemory(first, namespace)).store(...everywhere);
      await first.close();
      const second = await openMemory(await connectAs("conformance"), namespace);
      checkEqual((await second.contents()).sort(), ["episodic", "semantic"], "contents in the next session");
    },
  },
  {
    ...common,
    id: "MEM-23",
    title: "no agent sees the working or episodic memory of another; semantic memory is shared by the namespace",
    source: "guide: memory (who sees what)",
    level: "must",
    async run({ agent, connectAs }) {
      const owner = await agent();
      const namespace = uniqueKey(owner);
      const mine = await openMemory(owner, namespace);
      await mine.store(...everywhere);
      for (const agentId of [
        "another agent",
        "",
        "conformance ",
        "Conformance",
        "conform%",
        '["agent","conformance"]',
      ]) {
        const theirs = await openMemory(await connectAs(agentId), namespace);
        for (const fields of [{}, { keys: ["secret"] }, { query: "secret" }, { limit: 1000 }]) {
          const { entries, total } = await theirs.find(fields);
          checkEqual([entries.map(({ content }) => content), total], [["semantic"], 1], `what "${agentId}" sees`);
        }
        for (const tier of ["working", "episodic"]) {
          checkEqual(await theirs.contents({ tier }), [], `${tier} memory of "${agentId}"`);
          checkEqual(await theirs.forget({ tier }), 0, `what "${agentId}" deletes`);
        }
      }
      checkEqual((await mine.contents()).length, 3, "entries of the owner afterwards");
    },
  },
  {
    ...common,
    id: "MEM-24",
    title: "an entry of another agent under the same key in its own tiers does not replace this agent's entry",
    source: "guide: memory (who sees what)",
    level: "must",
    async run({ agent, connectAs }) {
      const owner = await agent();
      const namespace = uniqueKey(owner);
      const mine = await openMemory(owner, namespace);
      const theirs = await openMemory(await connectAs("another agent"), namespace);
      for (const tier of ["working", "episodic"]) {
        await mine.store({ key: "a", content: "mine", tier });
        await theirs.store({ key: "a", content: "theirs", tier });
        checkEqual(await mine.contents({ tier }), ["mine"], `${tier} memory`);
        checkEqual(await theirs.contents({ tier }), ["theirs"], `${tier} memory of the other`);
      }
    },
  },
  {
    ...common,
    id: "MEM-25",
    title: "memories of the same namespace with different scopes share nothing",
    source: "wire facts M9, M10",
    level: "must",
    async run({ agent, connectAs }) {
      const peer = await agent();
      const namespace = uniqueKey(peer);
      const one = await openMemory(peer, namespace, { user: "ada" });
      await one.store(...everywhere);
      for (const scope of [{}, { user: "bob" }, { user: "ada", project: "x" }]) {
        checkEqual(await (await openMemory(peer, namespace, scope)).contents(), [], "contents of another scope");
        const other = await openMemory(await connectAs("another agent"), namespace, scope);
        checkEqual(await other.contents(), [], "contents of another scope, for another agent");
      }
    },
  },
  {
    ...common,
    id: "MEM-26",
    title: "the memory_id of another session is not valid in a session that has not initialised it",
    source: "wire facts M3; sessions are isolated",
    level: "must",
    async run({ agent, connectAs }) {
      const open = await openMemory(await agent());
      await open.store(...everywhere);
      const other = await connectAs("another agent");
      for (const type of ["memory/store/req", "memory/retrieve/req", "memory/forget/req"])
        checkError(await other.request(type, { memory_id: open.id, entries: [] }), "memory_not_found");
    },
  },
  {
    ...common,
    id: "MEM-27",
    title: "of two simultaneous writes at the same version, one succeeds and the other gets version_conflict",
    source: "extension: if_version",
    level: "extension",
    async run({ agent, connectAs }) {
      const peer = await agent();
      const namespace = uniqueKey(peer);
      const writers = [peer, await connectAs("another agent"), await connectAs("a third agent")];
      const memories = await Promise.all(writers.map((writer) => openMemory(writer, namespace)));
      const answers = await Promise.all(
        memories.map((open, at) => open.tryStore({ key: "a", content: at, tier: "semantic", if_version: 0 })),
      );
      const won = answers.flatMap(({ type }, at) => (type === "memory/store/resp" ? [at] : []));
      checkEqual(won.length, 1, "number of those who wrote");
      for (const answer of answers) if (answer.type !== "memory/store/resp") checkError(answer, "version_conflict");
      checkEqual(await memories[0]?.contents(), won, "content");
    },
  },
];
