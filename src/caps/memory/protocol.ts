import * as z from "zod";
import { call, capability } from "../../protocol/capability.ts";
import { jsonObject, jsonValue } from "../../protocol/json.ts";

/** What a message may hold; the other limits of this capability are the host's. */
export const messageLimits = {
  /** Keys, and tags, that one search asks for. */
  maxAskedKeys: 10_000,
  maxAskedTags: 1000,
} as const satisfies Record<string, number>;

const key = z.union([z.string(), jsonObject]).describe('A text, which is short for {"key": text}, or an object.');
const seconds = z.number().describe("Seconds since 1970.");
const tier = z.enum(["working", "episodic", "semantic"]);
/** Empty stands for all of them. */
const tierOrAll = z.enum(["", "working", "episodic", "semantic"]);
const memoryId = z.string().default("").describe("Empty: the memory that this session initialised last.");
const tagsMatch = z.enum(["all", "any"]).default("all").describe("Whether an entry needs all the tags or one of them.");

const newEntry = z.object({
  key,
  content: jsonValue,
  tier: tier.default("episodic"),
  tags: z.array(z.string()).default([]),
  source: z.string().default(""),
  score: z.number().default(1).describe("How much the entry matters, for retrieval without a query."),
  ttl: z.number().nullable().default(0).describe("Seconds that the entry lives after its last change; 0: for ever."),
  event_at: seconds.optional().describe("When it happened, in seconds since 1970; else created_at, else now."),
  created_at: seconds.optional().describe("Taken as event_at where that is missing: the host keeps its own times."),
  updated_at: seconds.optional().describe("Ignored: the host keeps its own times."),
  timestamps: jsonObject.optional().describe("Another place for event_at and created_at."),
  if_version: z
    .int()
    .optional()
    .describe("Stores only if the entry still has this version; 0: only if there is none. Missing: in any case."),
});

const entry = z.object({
  key: jsonObject,
  key_text: z.string().default("").describe("The text of a text key, the canonical JSON of another."),
  content: jsonValue,
  tier,
  tags: z.array(z.string()).default([]),
  source: z.string().default(""),
  score: z.number().default(1).describe("From 0 to 1 how well the entry answers the query; without one, as stored."),
  ttl: z.int().default(0),
  created_at: seconds,
  updated_at: seconds,
  event_at: seconds,
  version: z.int().describe("Grows with each change in this memory and tier; pass it as if_version."),
});

const entryProblem = z.object({
  index: z.int().describe("Place in `entries` of the request."),
  key,
  code: z.string(),
  message: z.string(),
  version: z.int().optional().describe("The version found, where another was expected; 0: no such entry."),
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
  since: seconds.optional().describe("Entries whose event_at is not before this, in seconds since 1970."),
  until: seconds.optional().describe("Entries whose event_at is before this, in seconds since 1970."),
};

const exampleEntry = {
  key: "mars",
  content: "Mars has two moons.",
  tier: "semantic" as const,
  tags: ["planets"],
};

export const memory = capability("memory", {
  doc: "Three tiers of memory: working for a session, episodic for an agent, semantic for all who share a namespace.",
  errors: {
    memory_full: { retryable: false, doc: "A limit of the tier is reached and it does not evict; forget something." },
    memory_not_found: { retryable: false, doc: "This session has not initialised a memory with this id." },
    version_conflict: {
      retryable: false,
      doc: "The entry has changed since it was read; `detail.errors[].version` is its version now.",
    },
  },
  calls: {
    init: call("memory/init/req", "memory/init/resp", {
      asTool: { effect: "adds", name: "memory_open" },
      doc: "Opens the memory of a namespace, narrowed by a scope. The same two always give the same memory.",
      request: z.object({
        namespace: z.string().min(1).max(256).default("default"),
        scope: z
          .record(z.string().max(256), z.string().max(256))
          .default({})
          .describe("Memories of one namespace with different scopes share nothing."),
        metadata: jsonObject.default({}).describe("For whoever reads the traffic; the host keeps none of it."),
      }),
      result: z.object({ memory_id: z.string(), namespace: z.string(), success: z.boolean().default(true) }),
      example: {
        request: { namespace: "astronomy", scope: { user: "ada" } },
        result: { memory_id: "mem_5f0c6d1e9a7b4c2d8e3f1a2b", namespace: "astronomy" },
      },
    }),
    store: call("memory/store/req", "memory/store/resp", {
      asTool: { effect: "adds", name: "memory_remember" },
      doc: "Stores entries, each wholly or not at all. Where none can be stored, the answer is the error of the first.",
      request: z.object({ memory_id: memoryId, entries: z.array(newEntry).default([]) }),
      result: z.object({
        stored: z.array(entry).default([]).describe("What was stored, in the order of the request."),
        errors: z.array(z.string()).default([]).describe("One line for each entry that was not."),
        error_details: z.array(entryProblem).default([]).describe("The same for programs."),
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
      doc: "Finds entries; all given conditions must hold. Best match first, or newest first where there is no query.",
      aliases: {
        "memory/recall": "memory/recall/resp",
        "memory/recall/req": "memory/recall/resp",
        "memory/search": "memory/search/resp",
        "memory/search/req": "memory/search/resp",
      },
      request: z.object({
        ...conditions,
        query: z.string().default("").describe("Words of which an entry must have at least one."),
        tier: tierOrAll.default(""),
        limit: z.int().min(0).default(10).describe("The host has a largest one (option max_results)."),
        min_score: z.number().default(0).describe("Entries whose score is not below this; 0: any."),
      }),
      result: z.object({
        entries: z.array(entry).default([]),
        total: z.int().default(0).describe("How many entries match, before the limit."),
        truncated: z
          .boolean()
          .optional()
          .describe("True where fewer were sent than asked for, because the host allows no more in one answer."),
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
      doc: "Deletes the entries that meet all given conditions; with none but the tier, everything in it.",
      request: z.object({ ...conditions, tier: tierOrAll.default("episodic") }),
      result: z.object({ deleted: z.int().default(0) }),
      example: { request: { keys: ["mars"], tier: "semantic" }, result: { deleted: 1 } },
    }),
  },
});
