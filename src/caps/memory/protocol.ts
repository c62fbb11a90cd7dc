import * as z from "zod";
import { jsonObject, jsonValue } from "../../protocol/json.ts";
import { call, capability } from "../../protocol/table/capability.ts";

/** Limits of a request; the other limits of this capability are options of the host. */
export const messageLimits = {
  /** Keys, and tags, in one request. */
  maxAskedKeys: 10_000,
  maxAskedTags: 1000,
} as const satisfies Record<string, number>;

const key = z.union([z.string(), jsonObject]).describe('A string, which is short for {"key": string}, or an object.');
const seconds = z.number().describe("Seconds since 1970.");
const tier = z.enum(["working", "episodic", "semantic"]);
/** Empty stands for all tiers. */
const tierOrAll = z.enum(["", "working", "episodic", "semantic"]);
const memoryId = z.string().default("").describe("Empty: the memory that this session initialised last.");
const tagsMatch = z
  .enum(["all", "any"])
  .default("all")
  .describe("Whether an entry must have all of the tags or any of them.");

const newEntry = z.object({
  key,
  content: jsonValue,
  tier: tier.default("episodic"),
  tags: z.array(z.string()).default([]),
  source: z.string().default(""),
  score: z
    .number()
    .default(1)
    .describe("The importance of the entry, used as its score in a retrieval without a query."),
  ttl: z.number().nullable().default(0).describe("Seconds after the last change until the entry expires; 0: never."),
  event_at: seconds
    .optional()
    .describe("Time of the event, in seconds since 1970. Without it, created_at, or else now."),
  created_at: seconds.optional().describe("Used as event_at if that is missing. The host sets created_at itself."),
  updated_at: seconds.optional().describe("Ignored: the host sets updated_at itself."),
  timestamps: jsonObject.optional().describe("An alternative place for event_at and created_at."),
  if_version: z
    .int()
    .optional()
    .describe(
      "Store only if the entry still has this version; 0: only if it does not exist. Without it, always store.",
    ),
});

const entry = z.object({
  key: jsonObject,
  key_text: z.string().default("").describe("The string of a string key, or the canonical JSON of an object key."),
  content: jsonValue,
  tier,
  tags: z.array(z.string()).default([]),
  source: z.string().default(""),
  score: z
    .number()
    .default(1)
    .describe("How well the entry matches the query, from 0 to 1. Without a query, the stored score."),
  ttl: z.int().default(0),
  created_at: seconds,
  updated_at: seconds,
  event_at: seconds,
  version: z.int().describe("Increases with each change in this memory and tier; send it as if_version."),
});

const entryProblem = z.object({
  index: z.int().describe("Index in `entries` of the request."),
  key,
  code: z.string(),
  message: z.string(),
  version: z.int().optional().describe("The current version, if another was expected; 0: the entry does not exist."),
});

export type Tier = z.output<typeof tier>;
export type NewMemoryEntry = z.output<typeof newEntry>;
export type MemoryEntry = z.output<typeof entry>;
export type EntryProblem = z.output<typeof entryProblem>;

const conditions = {
  memory_id: memoryId,
  keys: z.array(key).max(messageLimits.maxAskedKeys).default([]),
  tags: z.array(z.string()).max(messageLimits.maxAskedTags).default([]),
  tags_match: tagsMatch,
  since: seconds.optional().describe("Entries with an event_at at or after this time, in seconds since 1970."),
  until: seconds.optional().describe("Entries with an event_at before this time, in seconds since 1970."),
};

const exampleEntry = {
  key: "mars",
  content: "Mars has two moons.",
  tier: "semantic" as const,
  tags: ["planets"],
};

export const memory = capability("memory", {
  doc: "Three tiers of memory: working for a session, episodic for an agent, semantic for all agents that share a namespace.",
  errors: {
    memory_full: { retryable: false, doc: "The tier is full and does not evict; delete entries with memory/forget." },
    memory_not_found: { retryable: false, doc: "This session has not initialised a memory with this id." },
    version_conflict: {
      retryable: false,
      doc: "The entry has changed since it was read; `detail.errors[].version` is its current version.",
    },
  },
  resources: { ns: "A namespace of memory, by its name." },
  calls: {
    init: call("memory/init/req", "memory/init/resp", {
      asTool: { effect: "adds", name: "memory_open" },
      about: { access: "read", resource: "ns", from: "namespace" },
      doc: "Opens the memory of a namespace and a scope. The same namespace and scope always give the same memory.",
      request: z.object({
        namespace: z.string().min(1).max(256).default("default"),
        scope: z
          .record(z.string().max(256), z.string().max(256))
          .default({})
          .describe("Memories of the same namespace with different scopes are separate."),
        metadata: jsonObject
          .default({})
          .describe("Ignored and not stored by the host; visible in recordings and logs of the traffic."),
      }),
      result: z.object({ memory_id: z.string(), namespace: z.string(), success: z.boolean().default(true) }),
      example: {
        request: { namespace: "astronomy", scope: { user: "ada" } },
        result: { memory_id: "mem_5f0c6d1e9a7b4c2d8e3f1a2b", namespace: "astronomy" },
      },
    }),
    store: call("memory/store/req", "memory/store/resp", {
      asTool: { effect: "adds", name: "memory_remember" },
      about: { access: "write", resource: "ns", resolve: "memory_id" },
      doc: "Stores entries, each completely or not at all. If no entry can be stored, the answer is the error of the first.",
      request: z.object({ memory_id: memoryId, entries: z.array(newEntry).default([]) }),
      result: z.object({
        stored: z.array(entry).default([]).describe("The entries that were stored, in the order of the request."),
        errors: z.array(z.string()).default([]).describe("One line for each entry that was not stored."),
        error_details: z.array(entryProblem).default([]).describe("The same errors in a form for programs."),
      }),
      example: {
        request: { entries: [exampleEntry] },
        result: {
          stored: [
            {
              ...exampleEntry,
              key: { key: "mars" },
              key_text: "mars",
              created_at: 1789000000.5,
              updated_at: 1789000000.5,
              event_at: 1789000000.5,
              version: 1,
            },
          ],
        },
      },
    }),
    retrieve: call("memory/retrieve/req", "memory/retrieve/resp", {
      asTool: { effect: "reads", name: "memory_recall" },
      about: { access: "read", resource: "ns", resolve: "memory_id" },
      doc: "Finds the entries that meet all given conditions. Best match first, or newest first without a query.",
      aliases: {
        "memory/recall": "memory/recall/resp",
        "memory/recall/req": "memory/recall/resp",
        "memory/search": "memory/search/resp",
        "memory/search/req": "memory/search/resp",
      },
      request: z.object({
        ...conditions,
        query: z.string().default("").describe("Words; an entry matches if it has at least one of them."),
        tier: tierOrAll.default(""),
        limit: z.int().min(0).default(10).describe("Capped by the host (option max_results)."),
        min_score: z.number().default(0).describe("Entries with at least this score; 0: any score."),
      }),
      result: z.object({
        entries: z.array(entry).default([]),
        total: z.int().default(0).describe("The number of matching entries before the limit."),
        truncated: z
          .boolean()
          .optional()
          .describe("True if fewer entries were sent than requested, because the host allows no more in one answer."),
      }),
      example: {
        request: { query: "moons", tier: "semantic" },
        result: {
          entries: [
            {
              ...exampleEntry,
              key: { key: "mars" },
              key_text: "mars",
              score: 1,
              created_at: 1789000000.5,
              updated_at: 1789000000.5,
              event_at: 1789000000.5,
              version: 1,
            },
          ],
          total: 1,
        },
      },
    }),
    forget: call("memory/forget/req", "memory/forget/resp", {
      asTool: { effect: "destroys" },
      about: { access: "write", resource: "ns", resolve: "memory_id" },
      doc: "Deletes the entries that meet all given conditions. Without conditions, it deletes all entries of the tier.",
      request: z.object({ ...conditions, tier: tierOrAll.default("episodic") }),
      result: z.object({ deleted: z.int().default(0) }),
      example: { request: { keys: ["mars"], tier: "semantic" }, result: { deleted: 1 } },
    }),
  },
});
