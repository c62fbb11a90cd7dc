// The host side of the memory capability.

import { type RegularWork, startRegularWork } from "../../machinery/regular-work.ts";
import { type Plugin, type PluginContext, plugin } from "../../plugin/plugin.ts";
import type { SessionState } from "../../plugin/session-state.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Embedder } from "./embedder.ts";
import { createLocalEmbedder } from "./embedding/local-embedder.ts";
import type { TierLimits } from "./entry.ts";
import { memoryLimits } from "./limits.ts";
import { Memories, overlaysOf } from "./memories.ts";
import { createNamespacePolicy } from "./namespace-policy.ts";
import { type MemoryOptions, type ParsedMemoryOptions, parseMemoryOptions } from "./options.ts";
import type { MemoryStore } from "./persistent/memory-store.ts";
import { Overlays } from "./persistent/overlays.ts";
import { createSqliteMemoryStore } from "./persistent/sqlite-memory-store.ts";
import { memory } from "./protocol.ts";
import { createHandlers } from "./session-handlers.ts";
import { TextRanker } from "./text.ts";
import { type Shelves, WorkingTier } from "./working/working-tier.ts";

export interface MemoryPluginOptions extends Omit<MemoryOptions, "embedder"> {
  /** An embedder created in code, or the name of a built-in embedder. */
  embedder?: Embedder | MemoryOptions["embedder"];
}

/** Called for `type: memory` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof memory> {
  return createMemoryPlugin(parseMemoryOptions(options), undefined);
}

export function memoryPlugin({ embedder, ...options }: MemoryPluginOptions = {}): Plugin<typeof memory> {
  if (typeof embedder === "object") return createMemoryPlugin(parseMemoryOptions(options), embedder);
  return createMemoryPlugin(parseMemoryOptions({ ...options, embedder }), undefined);
}

/** Shared by all sessions of a host. */
interface Shared {
  readonly store: MemoryStore;
  readonly overlays: Overlays;
  readonly embedder: Embedder | undefined;
  readonly collecting: RegularWork;
}

function createMemoryPlugin(options: ParsedMemoryOptions, ownEmbedder: Embedder | undefined): Plugin<typeof memory> {
  const { exclusive, priority } = options;
  const policy = createNamespacePolicy(options.namespaces);
  const ranker = new TextRanker();
  /** The shelves that the working tier of a fork starts with, until its session is opened. */
  const inherited = new WeakMap<SessionState, Shelves>();
  let shared: Shared | undefined;

  return plugin(memory, {
    forking: "overlaid",
    ...(exclusive === undefined ? {} : { exclusive }),
    ...(priority === undefined ? {} : { priority }),

    async setup(context) {
      const embedder = options.embedder === "local" ? await createLocalEmbedder({ log: context.log }) : ownEmbedder;
      try {
        shared = open(options, context, ranker, embedder);
      } catch (error) {
        await embedder?.close?.();
        throw error;
      }
    },

    session(context) {
      if (shared === undefined) throw new Error("the memory plugin was not set up");
      const { store, overlays, embedder } = shared;
      const now = () => context.clock.now() / 1000;
      const entered: string[] = [];
      const enter = (ids: readonly string[]) => {
        entered.push(...ids);
        overlays.enter(ids, now());
      };
      const memories = new Memories(context, options.max_memories, (owner) => enter([owner]));
      enter(memories.overlays);
      const known = inherited.get(context.state);
      inherited.delete(context.state);
      const working = new WorkingTier(context.state, toTierLimits(options.working), ranker, known);
      return {
        handlers: createHandlers({
          memories,
          working,
          store,
          policy,
          embedder,
          outside: context.outside,
          maxEntryBytes: options.max_entry_bytes,
          maxResults: options.max_results,
        }),
        fork(forked) {
          const id = context.nextId();
          overlays.begin(id, memories.overlays.at(-1) ?? "", now());
          memories.fork(forked, id);
          const shelves = working.forkShelves();
          if (shelves !== undefined) inherited.set(forked, shelves);
        },
        merge(fork) {
          working.merge(fork);
          const overlay = overlaysOf(fork).at(-1);
          return overlay === undefined ? { merged: 0, conflicts: [] } : overlays.merge(overlay, now());
        },
        resourceOf: (kind, id) => (kind === "ns" ? memories.namespaceOf(id) : undefined),
        close: () => overlays.leave(entered, now()),
      };
    },

    async close() {
      await shared?.collecting.close();
      await shared?.embedder?.close?.();
    },
  });
}

function open(
  options: ParsedMemoryOptions,
  { clock, database, log }: PluginContext,
  ranker: TextRanker,
  embedder: Embedder | undefined,
): Shared {
  const limits = { episodic: toTierLimits(options.episodic), semantic: toTierLimits(options.semantic) };
  const store = createSqliteMemoryStore({
    database,
    ranker,
    limits,
    maxSpacesPerAgent: options.max_spaces_per_agent,
    tokenizer: options.tokenizer,
    fusion:
      embedder === undefined
        ? undefined
        : { model: embedder.name, vectorWeight: options.vector_weight, minSimilarity: options.min_similarity },
  });
  const overlays = new Overlays(database, limits);
  const overlayIdleS = database.isPersistent
    ? options.fork_idle_s
    : Math.min(options.fork_idle_s, memoryLimits.transientOverlayIdleS);
  const collecting = startRegularWork({
    work() {
      const now = clock.now() / 1000;
      store.collect(now);
      overlays.collect(now, overlayIdleS);
    },
    everyMs: memoryLimits.collectIntervalMs,
    onError: (error) => log.error("deleting expired memory entries failed", { error }),
  });
  return { store, overlays, embedder, collecting };
}

function toTierLimits({ max_entries, max_bytes, on_full }: ParsedMemoryOptions["working"]): TierLimits {
  return { maxEntries: max_entries, maxBytes: max_bytes, onFull: on_full };
}
