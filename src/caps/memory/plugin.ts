// The host side of the memory capability.
import { type Plugin, type PluginContext, plugin } from "../../host/plugin.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Embedder } from "./embedder.ts";
import type { TierLimits } from "./entry.ts";
import { memoryLimits } from "./limits.ts";
import { createLocalEmbedder } from "./local-embedder.ts";
import { Memories, overlaysOf } from "./memories.ts";
import type { MemoryStore } from "./memory-store.ts";
import { createNamespacePolicy } from "./namespace-policy.ts";
import { type MemoryOptions, type ParsedMemoryOptions, parseMemoryOptions } from "./options.ts";
import { Overlays } from "./overlays.ts";
import { memory } from "./protocol.ts";
import { createHandlers } from "./session-handlers.ts";
import { createSqliteMemoryStore } from "./sqlite-memory-store.ts";
import { TextRanker } from "./text.ts";
import { WorkingTier } from "./working-tier.ts";

export interface MemoryPluginOptions extends Omit<MemoryOptions, "embedder"> {
  /** One made in code, or one that a config can name. */
  embedder?: Embedder | MemoryOptions["embedder"];
}

/** What a config makes of `type: memory`. */
export function createPlugin(options: JsonObject): Plugin<typeof memory> {
  return createMemoryPlugin(parseMemoryOptions(options), undefined);
}

export function memoryPlugin({ embedder, ...options }: MemoryPluginOptions = {}): Plugin<typeof memory> {
  if (typeof embedder === "object") return createMemoryPlugin(parseMemoryOptions(options), embedder);
  return createMemoryPlugin(parseMemoryOptions({ ...options, embedder }), undefined);
}

/** What all sessions of a host share. */
interface Shared {
  readonly store: MemoryStore;
  readonly overlays: Overlays;
  readonly embedder: Embedder | undefined;
  readonly timer: NodeJS.Timeout;
}

function createMemoryPlugin(options: ParsedMemoryOptions, ownEmbedder: Embedder | undefined): Plugin<typeof memory> {
  const { exclusive, priority } = options;
  const policy = createNamespacePolicy(options.namespaces);
  const ranker = new TextRanker();
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
      const memories = new Memories(context, options.max_memories);
      const entered = memories.overlays;
      const working = new WorkingTier(context.state, toTierLimits(options.working), ranker);
      const now = () => context.clock.now() / 1000;
      overlays.enter(entered, now());
      return {
        handlers: createHandlers({
          memories,
          working,
          store,
          policy,
          embedder,
          maxEntryBytes: options.max_entry_bytes,
          maxResults: options.max_results,
        }),
        fork(forked) {
          const id = context.nextId();
          overlays.begin(id, memories.overlays.at(-1) ?? "", now());
          memories.fork(forked, id);
        },
        merge(fork) {
          working.merge(fork);
          return overlays.merge(overlaysOf(fork).at(-1) ?? "", now());
        },
        close: () => overlays.leave(entered, now()),
      };
    },

    async close() {
      clearInterval(shared?.timer);
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
  const store = createSqliteMemoryStore({
    database,
    ranker,
    limits: { episodic: toTierLimits(options.episodic), semantic: toTierLimits(options.semantic) },
    maxSpacesPerAgent: options.max_spaces_per_agent,
    tokenizer: options.tokenizer,
    fusion:
      embedder === undefined
        ? undefined
        : { model: embedder.name, vectorWeight: options.vector_weight, minSimilarity: options.min_similarity },
  });
  const overlays = new Overlays(database);
  const overlayIdleS = database.isPersistent
    ? options.fork_idle_s
    : Math.min(options.fork_idle_s, memoryLimits.transientOverlayIdleS);
  const collect = () => {
    try {
      const now = clock.now() / 1000;
      store.collect(now);
      overlays.collect(now, overlayIdleS);
    } catch (error) {
      log.error("expired memory could not be collected", { error });
    }
  };
  collect();
  const timer = setInterval(collect, memoryLimits.collectIntervalMs);
  timer.unref();
  return { store, overlays, embedder, timer };
}

function toTierLimits({ max_entries, max_bytes, on_full }: ParsedMemoryOptions["working"]): TierLimits {
  return { maxEntries: max_entries, maxBytes: max_bytes, onFull: on_full };
}
