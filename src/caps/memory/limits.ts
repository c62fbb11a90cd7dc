// The limits of the memory capability with their defaults. An option of the plugin overrides the limit of the same
// name.
import { messageLimits } from "./protocol.ts";

export const memoryLimits = {
  ...messageLimits,
  /** Entries of one memory in the working tier of a session. */
  maxWorkingEntries: 20_000,
  maxWorkingBytes: 16 * 1024 * 1024,
  /** Entries of one memory of one agent. */
  maxEpisodicEntries: 100_000,
  maxEpisodicBytes: 256 * 1024 * 1024,
  /** Entries of one shared memory. */
  maxSemanticEntries: 200_000,
  maxSemanticBytes: 512 * 1024 * 1024,
  /** Content of one entry as JSON. */
  maxEntryBytes: 256 * 1024,
  /** Canonical form of one key. */
  maxKeyLength: 1024,
  maxTags: 64,
  maxTagLength: 256,
  maxSourceLength: 1024,
  /** Fields of a scope. */
  maxScopeFields: 16,
  /** Memories that one session initialises. */
  maxMemories: 256,
  /** Memories in the persistent tiers that one agent may create. */
  maxSpacesPerAgent: 1024,
  /** Entries in one answer. */
  maxResults: 1000,
  /** Bytes of entries in one answer. A single entry may be larger. */
  maxAnswerBytes: 4 * 1024 * 1024,
  /** Characters and words of a query; the rest of the query is ignored. */
  maxQueryLength: 16_384,
  maxQueryWords: 32,
  /** Entries, and their bytes, that a fork may write over one memory: a search reads all of them without an index. */
  maxOverlayEntries: 5000,
  maxOverlayBytes: 4 * 1024 * 1024,
  /** Texts per call of an embedder, so that calls of other sessions can run in between. */
  maxEmbeddedTexts: 32,
  /** Characters of a text that are embedded. */
  maxEmbeddedLength: 8000,
  /** Vectors compared before other work of the host gets a turn. */
  maxVectorsPerTurn: 4000,
  /** Expired entries deleted in one transaction. */
  maxCollected: 1000,
  /** Time between two collections of expired entries and unused overlays. */
  collectIntervalMs: 60_000,
  /** Entries of a fork, and of an agent without an id, are deleted this long after their session was last open. */
  overlayIdleS: 7 * 24 * 60 * 60,
  /** The same for a host without persistent storage. */
  transientOverlayIdleS: 60 * 60,
} as const;
