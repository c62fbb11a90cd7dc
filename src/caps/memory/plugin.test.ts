// The capability as agents use it: through a host, in their own spelling, across restarts.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSqlJournal } from "../../durability/journal/sql-journal-store.ts";
import { core } from "../../protocol/core.ts";
import { openSqlite } from "../../stores/sqlite/sqlite.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { createPlugin, type MemoryPluginOptions, memoryPlugin } from "./plugin.ts";
import { memory } from "./protocol.ts";

async function startMemoryHost(options: MemoryPluginOptions = {}, path = ":memory:") {
  const database = await createSqliteDatabase({ path, durability: "process" });
  return startHost({ plugins: [memoryPlugin(options)], database, client: { agentId: "ada" } });
}

test("an agent that initialises no memory has a default memory", async () => {
  await using host = await startMemoryHost();
  const { client } = host;

  await client.memory.store({ entries: [{ key: "a", content: 1 }] });
  const { memory_id } = await client.memory.init();

  expect(await client.memory.retrieve({ memory_id })).toMatchObject({ entries: [{ content: 1, tier: "episodic" }] });
});

test("a request without memory_id goes to the memory that was initialised last", async () => {
  await using host = await startMemoryHost();
  const { memory } = host.client;
  const { memory_id: first } = await memory.init({ namespace: "first" });
  const { memory_id: second, success } = await memory.init({ namespace: "second" });
  await memory.store({ entries: [{ key: "a", content: "in the second" }] });

  expect(success).toBe(true);
  expect(await memory.retrieve({ memory_id: first })).toEqual({ entries: [], total: 0 });
  expect(await memory.retrieve({ memory_id: second })).toMatchObject({ total: 1 });
});

test("each spelling of a request is answered with the matching type, with keys that any peer can parse", async () => {
  await using host = await startMemoryHost();
  await host.client.memory.store({ entries: [{ key: "mars", content: "Mars has two moons", tier: "semantic" }] });

  for (const [type, answer] of [
    ["memory/recall", "memory/recall/resp"],
    ["memory/recall/req", "memory/recall/resp"],
    ["memory/search", "memory/search/resp"],
    ["memory/search/req", "memory/search/resp"],
    ["memory/retrieve/req", "memory/retrieve/resp"],
  ] as const) {
    const { client, wire } = host;
    await client.rpc({ ...memory.calls.retrieve, type, responseType: answer }, { query: "moons" });
    const last = wire.filter(({ direction }) => direction === "received").at(-1)?.message;
    expect(last).toMatchObject({ type: answer, total: 1, entries: [{ key: { key: "mars" }, key_text: "mars" }] });
  }
});

test("an invalid request is answered with its problems", async () => {
  await using host = await startMemoryHost();
  const { memory } = host.client;

  await expect(memory.store({ entries: [{ key: "a", content: 1, tier: "forever" as never }] })).rejects.toMatchObject({
    code: "schema_violation",
    message: expect.stringContaining("entries[0].tier"),
  });
  await expect(memory.retrieve({ memory_id: "unknown" })).rejects.toMatchObject({
    code: "memory_not_found",
    capability_name: "memory",
    detail: { memory_id: "unknown" },
  });
});

test("episodic and semantic memory survive a restart of the host, working memory does not", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-memory-"));
  const path = join(folder, "host.db");
  try {
    {
      await using host = await startMemoryHost({}, path);
      const entries = (["working", "episodic", "semantic"] as const).map((tier) => ({ key: tier, content: "x", tier }));
      await host.client.memory.store({ entries });
    }
    await using host = await startMemoryHost({}, path);

    const { entries } = await host.client.memory.retrieve({ query: "x" });

    expect(entries.map(({ key_text }) => key_text).sort()).toEqual(["episodic", "semantic"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("many sessions write at the same time without a busy error, even if another process reads the database", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-memory-"));
  const path = join(folder, "host.db");
  try {
    const database = await createSqliteDatabase({ path, durability: "process" });
    await using host = await startHost({ plugins: [memoryPlugin()], database, journal: createSqlJournal(database) });
    const stranger = await openSqlite({ path, migrations: ["-- the host's own"] });
    stranger.exec("BEGIN");
    stranger.prepare("SELECT count(*) FROM memory_entry").get();
    const sessions = await Promise.all(
      Array.from({ length: 40 }, (_, at) => host.connect({ agentId: `agent ${at % 8}` })),
    );
    const tiers = ["working", "episodic", "semantic"] as const;

    const rounds = Array.from({ length: 5 }, async (_, round) => {
      const stores = sessions.map(({ memory }, at) =>
        memory.store({ entries: tiers.map((tier) => ({ key: `${at} ${round}`, content: "note", tier })) }),
      );
      for (const { errors } of await Promise.all(stores)) expect(errors).toEqual([]);
    });
    await Promise.all(rounds);
    stranger.exec("COMMIT");
    stranger.close();

    expect((await host.client.memory.retrieve({ tier: "semantic", query: "note" })).total).toBe(200);
    expect(host.log.entries).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("porter finds other forms of a word, unicode61 finds the same word without accents", async () => {
  for (const [tokenizer, query, total] of [
    ["porter", "planet", 1],
    ["unicode61", "planet", 0],
    ["unicode61", "cafe", 1],
  ] as const) {
    await using host = await startMemoryHost({ tokenizer });
    await host.client.memory.store({ entries: [{ key: "a", content: "planets at the Café", tier: "semantic" }] });
    expect(await host.client.memory.retrieve({ query }), `${tokenizer} ${query}`).toMatchObject({ total });
  }
});

test("ten thousand entries are stored by one request and deleted by another", async () => {
  await using host = await startMemoryHost();
  const entries = Array.from({ length: 10_000 }, (_, index) => ({
    key: `note ${index}`,
    content: `entry number ${index}`,
    tier: "semantic" as const,
  }));

  const { stored } = await host.client.memory.store({ entries });

  expect(stored).toHaveLength(10_000);
  expect(await host.client.memory.retrieve({ query: "entry", limit: 3 })).toMatchObject({ total: 10_000 });
  expect(await host.client.memory.forget({ tier: "semantic" })).toEqual({ deleted: 10_000 });
});

test("a fork of a session is isolated until it is merged", async () => {
  await using host = await startMemoryHost();
  const { client } = host;
  const tiers = ["working", "episodic", "semantic"] as const;
  const write = (memory: typeof client.memory, key: string, content: string) =>
    memory.store({ entries: tiers.map((tier) => ({ key, content, tier })) });
  const read = async (memory: typeof client.memory) =>
    (await memory.retrieve({ limit: 100 })).entries
      .map(({ tier, key_text, content }) => `${tier} ${key_text}: ${content}`)
      .sort();
  await write(client.memory, "color", "red");
  await write(client.memory, "shape", "round");
  const { session_id, capabilities } = await client.use(core).fork();
  const fork = await host.connect({ sessionId: session_id, agentId: "ada" });
  const before = await read(client.memory);

  await write(fork.memory, "color", "blue");
  await write(fork.memory, "size", "large");
  await fork.memory.forget({ tier: "", keys: ["shape"] });
  expect(capabilities).toEqual({ memory: "overlaid" });
  expect(await read(client.memory)).toEqual(before);
  await write(client.memory, "color", "green");
  const report = await client.use(core).merge({ session_id });

  expect(report.capabilities.memory?.merged).toBe(6);
  expect(report.capabilities.memory?.conflicts).toEqual([
    expect.stringMatching(/^working\/mem_.*color/),
    "semantic/default/color",
    "episodic/default/color",
  ]);
  expect(await read(client.memory)).toEqual(
    tiers.flatMap((tier) => [`${tier} color: green`, `${tier} size: large`]).sort(),
  );
  const [color] = (await client.memory.retrieve({ tier: "working", keys: ["color"] })).entries;
  const [written] = (await write(client.memory, "color", "white")).stored;
  expect(written?.version).toBeGreaterThan(color?.version ?? 0);
});

test("after a merge of many forks the working tier is within its limits and has the latest entries", async () => {
  await using host = await startMemoryHost({ working: { max_entries: 3 } });
  const { client } = host;
  const put = ({ memory }: typeof client, ...keys: string[]) =>
    memory.store({ entries: keys.map((key) => ({ key, content: key, tier: "working" })) });
  const fork = async () => {
    const { session_id } = await client.use(core).fork();
    return { session_id, agent: await host.connect({ agentId: "ada", sessionId: session_id }) };
  };
  await put(client, "a");
  const first = await fork();
  const second = await fork();
  await put(first.agent, "b", "c");
  await put(second.agent, "d", "e", "a");

  for (const { session_id } of [first, second]) await client.use(core).merge({ session_id });

  const { entries, total } = await client.memory.retrieve({ tier: "working" });
  expect(total).toBe(3);
  expect(entries.map(({ key_text }) => key_text)).toContain("a");
  await put(client, "f");
  expect((await client.memory.retrieve({ tier: "working" })).total).toBe(3);
});

test("restoring a snapshot restores working memory", async () => {
  await using host = await startMemoryHost();
  const { client } = host;
  await client.memory.store({ entries: [{ key: "a", content: "before", tier: "working" }] });
  const { snapshot_id } = await client.use(core).snapshot();
  await client.memory.store({ entries: [{ key: "a", content: "after", tier: "working" }] });

  await client.use(core).restore({ snapshot_id });

  expect(await client.memory.retrieve({ tier: "working" })).toMatchObject({ entries: [{ content: "before" }] });
});

test("a host without a database reports that at its start", async () => {
  await expect(startHost(createPlugin({}))).rejects.toThrow(/plugin "memory" failed to start: .* without a database/);
});
