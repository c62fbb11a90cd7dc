// The limits of the memory capability with their defaults; the plugin's options override those that they name.
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
  /** Content of one entry, as JSON. */
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
  /** Memories in the persistent tiers that one agent begins. */
  maxSpacesPerAgent: 1024,
  /** Entries that one answer carries. */
  maxResults: 1000,
  /** Bytes of entries that one answer carries; a single larger one goes out. */
  maxAnswerBytes: 4 * 1024 * 1024,
  /** Characters and words of a query; further ones are not looked at. */
  maxQueryLength: 16_384,
  maxQueryWords: 32,
  /** Entries of one memory that a fork writes over it, and their bytes: a search looks at each of them. */
  maxOverlayEntries: 5000,
  maxOverlayBytes: 4 * 1024 * 1024,
  /** Texts that an embedder is given at once, so that those of others get in between. */
  maxEmbeddedTexts: 32,
  /** Characters of a text that count for its vector. */
  maxEmbeddedLength: 8000,
  /** Vectors that are compared in one turn of the host. */
  maxVectorsPerTurn: 4000,
  /** Expired entries deleted in one go. */
  maxCollected: 1000,
  /** How often expired entries and abandoned overlays are collected. */
  collectIntervalMs: 60_000,
  /** What a fork wrote, and what an agent without an id did, is kept for this long after it was last open. */
  overlayIdleS: 7 * 24 * 60 * 60,
  /** The same where the host keeps nothing beyond its own life. */
  transientOverlayIdleS: 60 * 60,
} as const;
