// Answers the requests of one session from its three tiers.

import { isLargerThan } from "../../machinery/validation/json-size.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import { CheckedResult } from "../../plugin/checked-result.ts";
import type { Handlers, SessionContext } from "../../plugin/plugin.ts";
import { isThenable } from "../../protocol/awaitable.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RequestOf, ResultInputOf, ResultOf } from "../../protocol/table/capability.ts";
import { toDraft } from "./drafts.ts";
import type { Embedder } from "./embedder.ts";
import { embedTexts } from "./embedding/embedding.ts";
import {
  type Conditions,
  compareMatches,
  countFitting,
  type Draft,
  type Found,
  type Refusal,
  type Search,
  toWireEntry,
  type WriteOutcome,
} from "./entry.ts";
import { canonicalKey, keyToWire } from "./key.ts";
import { memoryLimits } from "./limits.ts";
import type { Memories, Memory } from "./memories.ts";
import type { NamespacePolicy } from "./namespace-policy.ts";
import type { MemoryStore } from "./persistent/memory-store.ts";
import { type EntryProblem, type MemoryEntry, memory, type Tier } from "./protocol.ts";
import { toWords } from "./text.ts";
import type { WorkingTier } from "./working/working-tier.ts";

export interface SessionTiers {
  readonly memories: Memories;
  readonly working: WorkingTier;
  readonly store: MemoryStore;
  readonly policy: NamespacePolicy;
  readonly embedder: Embedder | undefined;
  readonly outside: SessionContext["outside"];
  readonly maxEntryBytes: number;
  readonly maxResults: number;
}

type Calls = (typeof memory)["calls"];
type StoreRequest = RequestOf<Calls["store"]>;
type RetrieveRequest = RequestOf<Calls["retrieve"]>;
type ForgetRequest = RequestOf<Calls["forget"]>;

const allTiers: readonly Tier[] = ["working", "episodic", "semantic"];

export function createHandlers(tiers: SessionTiers): Handlers<typeof memory> {
  const session = new MemorySession(tiers);
  return {
    init: ({ namespace, scope }) => session.init(namespace, scope),
    store: (request, context) => session.store(request, context),
    retrieve: (request, context) => session.retrieve(request, context),
    forget: (request, context) => session.forget(request, context),
  };
}

/** Synchronous unless vectors are needed, so that most requests are answered in the turn in which they arrive. */
class MemorySession {
  readonly #tiers: SessionTiers;

  constructor(tiers: SessionTiers) {
    this.#tiers = tiers;
  }

  init(namespace: string, scope: Record<string, string>): ResultInputOf<Calls["init"]> {
    const { maxScopeFields } = memoryLimits;
    if (Object.keys(scope).length > maxScopeFields)
      throw memory.error("schema_violation", `scope: a scope has at most ${maxScopeFields} fields`);
    return { memory_id: this.#tiers.memories.init(namespace, scope).id, namespace };
  }

  store(request: StoreRequest, context: CallContext) {
    const { embedder, maxEntryBytes, outside } = this.#tiers;
    const opened = this.#tiers.memories.get(request.memory_id);
    const now = context.clock.now() / 1000;
    const drafts = request.entries.map((entry) => {
      const draft = toDraft(entry, maxEntryBytes, now);
      return "code" in draft ? draft : (this.#refuseWrite(opened, entry.tier) ?? draft);
    });
    context.charge?.("bytes_stored", sizeOf(drafts));
    if (embedder === undefined) return this.#write(opened, request, drafts, now);
    const semantic = drafts.filter((draft, index): draft is Draft => {
      return request.entries[index]?.tier === "semantic" && !("code" in draft);
    });
    if (semantic.length === 0) return this.#write(opened, request, drafts, now);
    const texts = semantic.map(({ text }) => text);
    return embedTexts(embedder, texts, context, outside).then((vectors) => {
      const vectorOf = new Map(semantic.map((draft, index) => [draft, vectors[index]]));
      const complete = drafts.map((draft) => {
        const vector = "code" in draft ? undefined : vectorOf.get(draft);
        return vector === undefined ? draft : { ...(draft as Draft), vector };
      });
      return this.#write(opened, request, complete, context.clock.now() / 1000);
    });
  }

  #refuseWrite({ namespace }: Memory, tier: Tier): Refusal | undefined {
    const { memories, policy } = this.#tiers;
    if (tier !== "semantic" || policy.canWrite(namespace, memories.agent)) return undefined;
    return { code: "forbidden", message: `you may not write to the semantic tier of "${namespace}"` };
  }

  #write(opened: Memory, { entries }: StoreRequest, drafts: readonly (Draft | Refusal)[], now: number) {
    const outcomes = new Array<WriteOutcome>(drafts.length);
    const places: Record<Tier, number[]> = { working: [], episodic: [], semantic: [] };
    drafts.forEach((draft, index) => {
      if ("code" in draft) outcomes[index] = { refusal: draft };
      else places[entries[index]?.tier as Tier].push(index);
    });
    // The working tier comes last: it cannot fail, so a request that fails has not changed it.
    for (const tier of ["semantic", "episodic", "working"] as const) {
      const indexes = places[tier];
      if (indexes.length === 0) continue;
      const chosen = indexes.length === drafts.length ? drafts : indexes.map((index) => drafts[index]);
      const stored = this.#storeIn(tier, opened, chosen as Draft[], now);
      stored.forEach((outcome, position) => {
        outcomes[indexes[position] as number] = outcome;
      });
    }
    const result = toStoreResult(entries, outcomes);
    // The working tier stores objects that are in the result, so the host must copy it. Results of the other tiers share
    // no objects with a store.
    return places.working.length === 0 ? new CheckedResult(result) : result;
  }

  #storeIn(tier: Tier, opened: Memory, drafts: Draft[], now: number): WriteOutcome[] {
    const { memories, store, working } = this.#tiers;
    if (tier === "working") return working.store(opened.id, drafts, now);
    const view = memories.viewOf(opened, tier);
    // The agent that creates a space is counted. An agent without an id is identified by the owner of its entries.
    const agent =
      memories.agent === "" ? memories.viewOf(opened, "episodic").space.owner : JSON.stringify(memories.agent);
    return store.store(view, drafts, agent, now);
  }

  retrieve(request: RetrieveRequest, context: CallContext) {
    const { embedder, maxResults, outside } = this.#tiers;
    const opened = this.#tiers.memories.get(request.memory_id);
    const query = request.query.trim();
    const search: Search = {
      ...toConditions(request),
      words: query === "" ? undefined : toWords(query),
      minScore: request.min_score,
      limit: Math.min(request.limit, maxResults),
    };
    const tiers = this.#readable(opened, request.tier);
    if (embedder === undefined || query === "" || !tiers.includes("semantic"))
      return this.#find(opened, tiers, search, request.limit, context);
    return embedTexts(embedder, [query], context, outside).then(([vector]) => {
      const complete = vector === undefined ? search : { ...search, vector };
      return this.#find(opened, tiers, complete, request.limit, context);
    });
  }

  /** A tier that was named but may not be read is an error; in a request for all tiers it is left out. */
  #readable({ namespace }: Memory, tier: Tier | ""): readonly Tier[] {
    const { memories, policy } = this.#tiers;
    const asked = tier === "" ? allTiers : [tier];
    if (!asked.includes("semantic") || policy.canRead(namespace, memories.agent)) return asked;
    if (tier === "") return asked.filter((one) => one !== "semantic");
    throw memory.error("forbidden", `you may not read the semantic tier of "${namespace}"`);
  }

  #find(opened: Memory, tiers: readonly Tier[], search: Search, asked: number, { clock }: CallContext) {
    const now = clock.now() / 1000;
    const found = tiers.map((tier) => this.#findIn(tier, opened, search, now));
    const finish = (all: readonly Found[]) => {
      const result = toRetrieveResult(tiers, all, search, asked);
      const used = result.entries.filter(({ tier }) => tier === "working");
      this.#tiers.working.use(
        opened.id,
        used.map(({ key }) => canonicalKey(key)),
      );
      return result;
    };
    return found.some(isThenable) ? Promise.all(found).then(finish) : finish(found as Found[]);
  }

  #findIn(tier: Tier, opened: Memory, search: Search, now: number): Found | Promise<Found> {
    const { memories, store, working } = this.#tiers;
    if (tier === "working") return working.find(opened.id, search, now);
    // Only entries of the semantic tier have vectors.
    const { vector: _, ...textOnly } = search;
    return store.find(memories.viewOf(opened, tier), tier === "semantic" ? search : textOnly, now);
  }

  forget(request: ForgetRequest, { clock }: CallContext): { deleted: number } {
    const { memories, policy, store, working } = this.#tiers;
    const opened = memories.get(request.memory_id);
    const conditions = toConditions(request);
    const now = clock.now() / 1000;
    let deleted = 0;
    for (const tier of request.tier === "" ? allTiers : [request.tier]) {
      if (tier === "working") deleted += working.forget(opened.id, conditions, now);
      else if (tier === "episodic" || policy.canWrite(opened.namespace, memories.agent))
        deleted += store.forget(memories.viewOf(opened, tier), conditions, now);
      else if (request.tier === "semantic")
        throw memory.error("forbidden", `you may not write to the semantic tier of "${opened.namespace}"`);
    }
    return { deleted };
  }
}

function toConditions(request: RetrieveRequest | ForgetRequest): Conditions {
  const { keys, since, tags, tags_match: tagsMatch, until } = request;
  return { keys: new Set(keys.map(canonicalKey)), tags: new Set(tags), tagsMatch, since, until };
}

function toRetrieveResult(
  tiers: readonly Tier[],
  found: readonly Found[],
  { words, limit }: Search,
  asked: number,
): ResultOf<Calls["retrieve"]> {
  const all = found.flatMap(({ matches }, index) => matches.map((match) => ({ ...match, tier: tiers[index] as Tier })));
  if (found.length > 1) all.sort(compareMatches(words !== undefined));
  const total = found.reduce((sum, one) => sum + one.total, 0);
  const entries = fitting(all.slice(0, limit).map(({ entry, score, tier }) => toWireEntry(entry, tier, score)));
  return entries.length < Math.min(total, asked) ? { entries, total, truncated: true } : { entries, total };
}

/** Cuts the entries to the size of one answer. */
function fitting(entries: MemoryEntry[]): MemoryEntry[] {
  const { maxAnswerBytes } = memoryLimits;
  // `isLargerThan` does not count escapes, which make a byte at most six bytes long. So nearly no answer is measured
  // twice.
  if (!isLargerThan(entries, maxAnswerBytes / 6)) return entries;
  const sizes = entries.map((entry) => Buffer.byteLength(JSON.stringify(entry)));
  return entries.slice(0, countFitting(sizes, maxAnswerBytes));
}

function toStoreResult(entries: StoreRequest["entries"], outcomes: readonly WriteOutcome[]): ResultOf<Calls["store"]> {
  const stored: MemoryEntry[] = [];
  const problems: EntryProblem[] = [];
  outcomes.forEach((outcome, index) => {
    const { key, tier } = entries[index] as StoreRequest["entries"][number];
    if ("entry" in outcome) stored.push(toWireEntry(outcome.entry, tier, outcome.entry.score, keyToWire(key)));
    else problems.push({ index, key, ...outcome.refusal });
  });
  const [first] = problems;
  if (first !== undefined && stored.length === 0) {
    const { code, message } = first as EntryProblem & Refusal;
    throw memory.error(code, `nothing was stored: ${message}`, { detail: { errors: problems as JsonObject[] } });
  }
  return { stored, errors: problems.map(toLine), error_details: problems };
}

function toLine({ index, key, code, message }: EntryProblem): string {
  return `entries[${index}] (${keyToWire(key).key_text.slice(0, 80)}): ${code}: ${message}`;
}

/** Of the drafts that are stored; the others have been refused. */
function sizeOf(drafts: readonly (Draft | Refusal)[]): number {
  return drafts.reduce((sum, draft) => ("code" in draft ? sum : sum + draft.size), 0);
}
