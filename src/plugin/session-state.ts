// The contract of `context.state`, which holds all data of a plugin that belongs to a session.
import type { JsonValue } from "../protocol/json.ts";

/**
 * JSON values by key, of one plugin in one session. The host writes changes to the journal together with the answer of
 * the call that made them, saves them with snapshots and copies them into forks.
 */
export interface SessionState {
  get(key: string): JsonValue | undefined;
  /**
   * Stores a value under a key. The state keeps the value itself, not a copy: do not change an object after it was set,
   * set a new object. Throws for the key `__proto__`, which the host's JSON parser drops.
   */
  set(key: string, value: JsonValue): void;
  /**
   * For a value that changes often and is expensive to convert to JSON: reports that the value of `key` has changed.
   * The host calls `read` when it needs the value, which may be several changes later. Report every change. `read`
   * returns undefined if the key no longer has a value.
   */
  setLive(key: string, read: () => JsonValue | undefined): void;
  /** Deletes a key; deleting it twice is allowed. */
  delete(key: string): void;
  /** All keys with their values, in no particular order. */
  entries(): IterableIterator<[string, JsonValue]>;
}

/**
 * Keys with this prefix describe one session only, such as the name of its overlay: merging a fork leaves them alone.
 */
export const localPrefix = "local:";
