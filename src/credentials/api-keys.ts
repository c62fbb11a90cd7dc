import { timingSafeEqual } from "node:crypto";
import type { Logger } from "../plugin/logger.ts";
import type { Database } from "../plugin/ports/database.ts";
import { type Clock, systemClock } from "../protocol/envelope.ts";
import { type ApiKeyManagement, createApiKeyManagement } from "./api-key-management.ts";
import { type ApiKeyRecord, createApiKeyTable, type KeyRevocation } from "./api-key-table.ts";
import { hashApiKey, idOfApiKey } from "./api-key-text.ts";
import type { Credential, ProvenIdentity, Refusal } from "./credential.ts";

const principalPrefix = "key:";
/** The time of last use is for people: it is not worth a write per handshake. */
const lastUseIntervalMs = 60_000;

export interface ApiKeysOptions {
  database: Database;
  clock?: Clock;
  log: Logger;
  /**
   * Calls back when another process may have changed the keys; a call too many is harmless. Returns a function that
   * stops it. Without it, keys that another process revokes are refused as soon as they are presented again, but
   * `onRevoked` only reports those of this process.
   */
  watch?: (changed: () => void) => () => void;
}

export type RevocationListener = (revocation: { principalId: string; reason: KeyRevocation["reason"] }) => void;

export interface ApiKeys extends Credential, ApiKeyManagement {
  /** The principal of a key that is still valid, for tokens that were narrowed from it; undefined if it is not a key. */
  identityOf(principalId: string): ProvenIdentity | Refusal | undefined;
  /** Calls back once for each key that is revoked or rotated from now on, so that its sessions can be ended. */
  onRevoked(listener: RevocationListener): () => void;
  /** Does not close the database. */
  close(): void;
}

/** Reads the database for each decision, so that changes of other processes are effective at once. */
export function createApiKeys({ database, clock = systemClock, log, watch }: ApiKeysOptions): ApiKeys {
  const table = createApiKeyTable(database);
  const management = createApiKeyManagement(table, clock);
  const listeners = new Set<RevocationListener>();
  const lastUses = new Map<string, number>();
  let reported = table.lastRevocation();

  const report: RevocationListener = (revocation) => {
    for (const listener of listeners) {
      try {
        listener(revocation);
      } catch (error) {
        log.error("a listener for revoked API keys threw", { principal_id: revocation.principalId, error });
      }
    }
  };
  const lookForRevocations = (): void => {
    try {
      for (const { number, keyId, reason } of table.revocationsAfter(reported)) {
        reported = number;
        report({ principalId: principalPrefix + keyId, reason });
      }
    } catch (error) {
      log.error("revoked API keys could not be read; sessions of revoked keys may continue", { error });
    }
  };
  const unwatch = watch?.(lookForRevocations);

  const noteUse = (id: string, lastUsedAt: number, now: number): void => {
    if (now - (lastUses.get(id) ?? lastUsedAt) < lastUseIntervalMs) return;
    // First: if the write fails, the next attempt is in a minute as well.
    lastUses.set(id, now);
    try {
      table.touch(id, now);
    } catch (error) {
      log.warn("the last use of an API key could not be written", { key_id: id, error });
    }
  };

  /** A database that fails must not look like a wrong key, which an agent would not present again. */
  const decide = <Outcome>(work: () => Outcome): Outcome | Refusal => {
    try {
      return work();
    } catch (error) {
      log.error("an API key could not be checked", { error });
      return { refused: "server_error", detail: "API keys cannot be read" };
    }
  };
  const check = (token: string): ProvenIdentity | Refusal => {
    const id = idOfApiKey(token) ?? "";
    const hash = hashApiKey(token);
    const found = table.find(id);
    // Equal time for any wrong secret. Before the other checks: only the holder of a key learns that it is revoked.
    if (found === undefined || !timingSafeEqual(found.hash, hash)) return { refused: "wrong" };
    const now = clock.now();
    const refusal = refusalOf(found, now);
    if (refusal !== undefined) return refusal;
    noteUse(id, found.lastUsedAt ?? 0, now);
    return toIdentity(found);
  };

  return {
    recognises: ({ token }) => idOfApiKey(token) !== undefined,
    authenticate: ({ token }) => decide(() => check(token)),
    identityOf(principalId) {
      if (!principalId.startsWith(principalPrefix)) return undefined;
      return decide(() => {
        const found = table.find(principalId.slice(principalPrefix.length));
        return found && (refusalOf(found, clock.now()) ?? toIdentity(found));
      });
    },
    ...management,
    revoke(id) {
      const record = management.revoke(id);
      lookForRevocations();
      return record;
    },
    rotate(id, options) {
      const issued = management.rotate(id, options);
      lookForRevocations();
      return issued;
    },
    onRevoked(listener) {
      // A new function, so that adding a listener twice calls it twice.
      const own: RevocationListener = (revocation) => listener(revocation);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    close() {
      unwatch?.();
      listeners.clear();
    },
  };
}

function refusalOf({ id, revokedAt, expiresAt }: ApiKeyRecord, now: number): Refusal | undefined {
  if (revokedAt !== undefined) return { refused: "revoked", detail: `API key "${id}"` };
  if (expiresAt !== undefined && expiresAt <= now) return { refused: "expired", detail: `API key "${id}"` };
  return undefined;
}

function toIdentity({ id, roles, scopes, expiresAt, label }: ApiKeyRecord): ProvenIdentity {
  const principalId = principalPrefix + id;
  return {
    id: principalId,
    isAuthenticated: true,
    roles,
    ...(scopes === undefined ? {} : { scopes }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    chain: [principalId],
    ...(label === "" ? {} : { label }),
  };
}
