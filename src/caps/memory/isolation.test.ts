// Access across agents, namespaces and memories, tried as an attacker would.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type MemoryHost, startMemory } from "./memory-host.suite.ts";

const secret = { key: "secret", content: "the vault opens at noon" };
const tiers = ["working", "episodic", "semantic"] as const;
const everywhere = { entries: tiers.map((tier) => ({ ...secret, tier })) };

let host: MemoryHost;

beforeEach(async () => {
  host = await startMemory({
    namespaces: {
      handbook: { access: "read_only", owners: ["editor"] },
      vault: { access: "private", owners: ["ada", "editor"] },
    },
  });
});

afterEach(() => host.close());

test("working memory belongs to the session, episodic memory to the agent, semantic memory to the namespace", async () => {
  const ada = host.open("ada");
  await ada.store(everywhere);

  const seenBy = async (agent: string) => (await host.open(agent).retrieve()).entries.map(({ tier }) => tier).sort();

  expect(await seenBy("ada")).toEqual(["episodic", "semantic"]);
  expect(await seenBy("bob")).toEqual(["semantic"]);
});

test("no agent id gives access to the episodic memory of another agent, whatever its characters", async () => {
  const ids = [
    "ada",
    "ada ",
    "ADA",
    "a%",
    "_da",
    "ada/",
    "ada\0",
    "ada\0x",
    '["agent","ada"]',
    "ada','default",
    "e\u0301",
    "\u00e9",
    "\ud800",
    "\ud801",
    "\ufffd",
    "",
    "default",
  ];
  for (const id of ids) await host.open(id).store({ entries: [{ key: "who", content: id, tier: "episodic" }] });

  for (const id of ids.filter((one) => one !== "")) {
    const { entries, total } = await host.open(id).retrieve({ tier: "episodic" });
    expect(
      entries.map(({ content }) => content),
      id,
    ).toEqual([id]);
    expect(total).toBe(1);
  }
});

test("agents without an id share nothing with each other", async () => {
  const first = host.open("");
  await first.store(everywhere);

  expect(await first.keys({ tier: "episodic" })).toEqual(["secret"]);
  expect(await host.open("").keys({ tier: "episodic" })).toEqual([]);
  expect(await host.open("", first.state).keys({ tier: "episodic" })).toEqual(["secret"]);
});

test("namespaces and scopes with similar names share nothing", async () => {
  const spaces = [
    { namespace: "a", scope: { b: "c" } },
    { namespace: 'a","b":"c', scope: {} },
    { namespace: 'a{"b":"c"}', scope: {} },
    { namespace: "a/b", scope: {} },
    { namespace: "a", scope: { "b/c": "" } },
    { namespace: "a", scope: {} },
    { namespace: "a%", scope: {} },
    { namespace: "A", scope: {} },
    { namespace: "a", scope: { b: 'c","d":"e' } },
    { namespace: "a", scope: { b: "c", d: "e" } },
    { namespace: "\ud800", scope: {} },
    { namespace: "\ufffd", scope: {} },
    { namespace: "__proto__", scope: {} },
    { namespace: "constructor", scope: {} },
  ];
  for (const [index, space] of spaces.entries()) {
    const session = host.open("ada");
    await session.init(space);
    await session.store({ entries: tiers.map((tier) => ({ key: "n", content: index, tier })) });
  }

  for (const [index, space] of spaces.entries()) {
    const session = host.open("ada");
    await session.init(space);
    const { entries } = await session.retrieve();
    expect(
      entries.map(({ content }) => content),
      JSON.stringify(space),
    ).toEqual([index, index]);
  }
});

test("the order of the fields of a scope does not matter", async () => {
  const ada = host.open("ada");
  const first = await ada.init({ namespace: "a", scope: { x: "1", y: "2" } });

  expect(await ada.init({ namespace: "a", scope: { y: "2", x: "1" } })).toEqual(first);
});

test("a memory id of another session gives no access to a memory that was not initialised here", async () => {
  const { memory_id } = await host.open("ada").init({ namespace: "vault" });
  const bob = host.open("bob");

  for (const id of [memory_id, "mem_", "default", "__proto__", "constructor", "%", `${memory_id}/`]) {
    await expect(bob.retrieve({ memory_id: id })).rejects.toMatchObject({ code: "memory_not_found" });
    await expect(bob.store({ memory_id: id, ...everywhere })).rejects.toMatchObject({ code: "memory_not_found" });
    await expect(bob.forget({ memory_id: id })).rejects.toMatchObject({ code: "memory_not_found" });
  }
});

test("keys of one memory never match entries of another memory of the session", async () => {
  const ada = host.open("ada");
  const { memory_id: first } = await ada.init({ namespace: "one" });
  const { memory_id: second } = await ada.init({ namespace: "two" });
  await ada.store({ memory_id: first, entries: [{ ...secret, tier: "working" }] });

  for (const key of [`../${first}/secret`, `${first}/secret`, "%", "*", "_"]) {
    await ada.store({ memory_id: second, entries: [{ key, content: "mine", tier: "working" }] });
    expect(await ada.keys({ memory_id: second, keys: ["secret"] })).toEqual([]);
  }
  expect(await ada.keys({ memory_id: first })).toEqual(["secret"]);
});

test("wildcards of SQL and of full-text search are ordinary characters", async () => {
  const ada = host.open("ada");
  await ada.store({ entries: tiers.map((tier) => ({ ...secret, tier, tags: ["hidden"] })) });

  for (const text of ["%", "s%", "_ecret", "*", "secre*", "'", "' OR 1=1 --", '" OR "']) {
    expect(await ada.keys({ keys: [text] })).toEqual([]);
    expect(await ada.keys({ tags: [text] })).toEqual([]);
    expect(await ada.forget({ tier: "", keys: [text] })).toEqual({ deleted: 0 });
  }
  expect(await ada.keys({ query: "vau*" })).toEqual([]);
});

test("word frequencies in the memories of other agents do not influence a score", async () => {
  const bob = host.open("bob");
  await bob.store({
    entries: ["x codeword", "y other"].map((content, index) => ({ key: `${index}`, content, tier: "episodic" })),
  });
  const before = await bob.retrieve({ tier: "episodic", query: "codeword other" });

  await host.open("ada").store({
    entries: Array.from({ length: 50 }, (_, index) => ({
      key: `${index}`,
      content: "codeword",
      tier: "episodic" as const,
    })),
  });

  expect(await bob.retrieve({ tier: "episodic", query: "codeword other" })).toEqual(before);
});

describe("a read-only namespace", () => {
  test("is written by its owners and read by all agents", async () => {
    const editor = host.open("editor");
    await editor.init({ namespace: "handbook" });
    await editor.store({ entries: [{ key: "rule", content: "be kind", tier: "semantic" }] });
    const bob = host.open("bob");
    await bob.init({ namespace: "handbook" });

    expect(await bob.keys({ query: "kind" })).toEqual(["rule"]);
    const attempt = bob.store({ entries: [{ key: "rule", content: "be rude", tier: "semantic" }] });
    await expect(attempt).rejects.toMatchObject({ code: "forbidden" });
    await expect(bob.forget({ tier: "semantic" })).rejects.toMatchObject({ code: "forbidden" });
    expect(await bob.forget({ tier: "" })).toEqual({ deleted: 0 });
    expect(await bob.retrieve()).toMatchObject({ entries: [{ content: "be kind" }] });
  });

  test("does not restrict an agent's own tiers, and a batch reports the entries that were rejected", async () => {
    const bob = host.open("bob");
    await bob.init({ namespace: "handbook" });

    const { stored, error_details } = await bob.store(everywhere);

    expect(stored.map(({ tier }) => tier)).toEqual(["working", "episodic"]);
    expect(error_details).toMatchObject([{ index: 2, code: "forbidden" }]);
  });
});

describe("a private namespace", () => {
  beforeEach(async () => {
    const ada = host.open("ada");
    await ada.init({ namespace: "vault" });
    await ada.store(everywhere);
  });

  test("is read and written by its owners only", async () => {
    const editor = host.open("editor");
    await editor.init({ namespace: "vault" });
    const bob = host.open("bob");
    await bob.init({ namespace: "vault" });

    expect(await editor.keys({ tier: "semantic", query: "vault" })).toEqual(["secret"]);
    for (const request of [
      { tier: "semantic" as const },
      { tier: "semantic" as const, query: "vault", min_score: 0.1 },
    ])
      await expect(bob.retrieve(request)).rejects.toMatchObject({ code: "forbidden" });
    expect(await bob.retrieve({ query: "vault" })).toEqual({ entries: [], total: 0 });
    await expect(bob.forget({ tier: "semantic" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(bob.store({ entries: [{ ...secret, tier: "semantic" }] })).rejects.toMatchObject({
      code: "forbidden",
    });
  });

  test("cannot be reached with a scope, another spelling, or without an agent id", async () => {
    for (const agent of ["bob", ""]) {
      for (const space of [
        { namespace: "vault", scope: { user: "ada" } },
        { namespace: "vault", scope: { owner: "ada", namespace: "vault" } },
      ]) {
        const session = host.open(agent);
        await session.init(space);
        await expect(session.retrieve({ tier: "semantic" })).rejects.toMatchObject({ code: "forbidden" });
      }
      for (const namespace of ["vault ", "Vault", "vault\0", "vau%", "./vault", "*"]) {
        const session = host.open(agent);
        await session.init({ namespace });
        expect(await session.keys()).toEqual([]);
      }
    }
  });
});

test("the rule * applies to every namespace without a rule", async () => {
  await using strict = await startMemory({
    namespaces: { "*": { access: "private", owners: ["ada"] }, lobby: { access: "shared" } },
  });
  const bob = strict.open("bob");

  await expect(bob.store({ entries: [{ ...secret, tier: "semantic" }] })).rejects.toMatchObject({ code: "forbidden" });
  await bob.init({ namespace: "constructor" });
  await expect(bob.retrieve({ tier: "semantic" })).rejects.toMatchObject({ code: "forbidden" });
  await bob.init({ namespace: "lobby" });
  expect((await bob.store({ entries: [{ ...secret, tier: "semantic" }] })).stored).toHaveLength(1);
});

test("two agents with different ids never see each other's episodic memory", async () => {
  const id = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(id, id, async (first, second) => {
      fc.pre(first !== second);
      await host.open(first).store({ entries: [{ key: `of ${first}`, content: first, tier: "episodic" }] });
      expect(await host.open(second).retrieve({ keys: [`of ${first}`] })).toEqual({ entries: [], total: 0 });
    }),
    { numRuns: 50 },
  );
});
