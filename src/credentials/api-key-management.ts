// What an operator does with API keys. Each key is shown once, when it is made: only its hash is stored.
import type { Clock } from "../protocol/envelope.ts";
import type { ApiKeyRecord, ApiKeyTable, StoredApiKey } from "./api-key-table.ts";
import { createApiKeyText, hashApiKey, isApiKeyId } from "./api-key-text.ts";

/** A mistake of the operator, in words for the operator. */
export class ApiKeyError extends Error {
  override readonly name = "ApiKeyError";
}

export interface NewApiKey {
  readonly id: string;
  readonly label?: string;
  readonly roles: readonly string[];
  readonly scopes?: readonly string[];
  readonly expiresAt?: number;
}

export interface IssuedApiKey {
  /** The secret itself. */
  readonly key: string;
  readonly record: ApiKeyRecord;
}

export interface ApiKeyManagement {
  create(key: NewApiKey): IssuedApiKey;
  list(): ApiKeyRecord[];
  revoke(id: string): ApiKeyRecord;
  /** Replaces the secret. The principal stays the same, and with it budgets, memory and sessions. */
  rotate(id: string, options?: { expiresAt?: number }): IssuedApiKey;
}

/**
 * All methods throw an ApiKeyError for an id that is unknown, taken, revoked or not valid. Each checks and writes in one
 * transaction, because other processes may write to the same table.
 */
export function createApiKeyManagement(table: ApiKeyTable, clock: Clock): ApiKeyManagement {
  return {
    create: (key) => table.write(() => createKey(table, key, clock.now())),
    list: () => table.list().map(withoutHash),
    revoke: (id) => table.write(() => revokeKey(table, id, clock.now())),
    rotate: (id, { expiresAt } = {}) => table.write(() => rotateKey(table, id, { at: clock.now(), expiresAt })),
  };
}

function createKey(table: ApiKeyTable, { id, label = "", roles, scopes, expiresAt }: NewApiKey, now: number) {
  if (!isApiKeyId(id)) {
    throw new ApiKeyError(`"${id}" is not an id of a key: use up to 64 lowercase letters, digits and hyphens`);
  }
  const found = table.find(id);
  if (found !== undefined) throw new ApiKeyError(takenText(found));
  const key = createApiKeyText(id);
  const restrictions = {
    ...(scopes === undefined ? {} : { scopes }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  const record: ApiKeyRecord = { id, label, roles, createdAt: now, ...restrictions };
  table.insert({ ...record, hash: hashApiKey(key) });
  return { key, record };
}

/** Revoking twice is allowed, and does not change when it was revoked. */
function revokeKey(table: ApiKeyTable, id: string, now: number): ApiKeyRecord {
  const found = existing(table, id);
  if (found.revokedAt === undefined) table.revoke(id, now);
  return { revokedAt: now, ...withoutHash(found) };
}

function rotateKey(table: ApiKeyTable, id: string, { at, expiresAt }: { at: number; expiresAt: number | undefined }) {
  const { expiresAt: before, ...record } = withoutHash(existing(table, id));
  if (record.revokedAt !== undefined) throw new ApiKeyError(`the API key "${id}" is revoked: create another`);
  const until = expiresAt ?? before;
  // A new secret alone would not make it valid again.
  if (until !== undefined && until <= at) {
    throw new ApiKeyError(`the API key "${id}" has expired: name a new time at which it expires`);
  }
  const key = createApiKeyText(id);
  table.rotate(id, hashApiKey(key), { at, expiresAt: until });
  return { key, record: { ...record, rotatedAt: at, ...(until === undefined ? {} : { expiresAt: until }) } };
}

function existing(table: ApiKeyTable, id: string): StoredApiKey {
  const found = table.find(id);
  if (found !== undefined) return found;
  throw new ApiKeyError(`there is no API key "${id}"`);
}

/** An id is never used twice: memory and budgets of its principal would go to another agent. */
function takenText({ id, revokedAt }: ApiKeyRecord): string {
  return revokedAt === undefined
    ? `there is already an API key "${id}": rotate it for a new secret, or choose another id`
    : `the id "${id}" belongs to a revoked API key and cannot be used again: choose another id`;
}

function withoutHash({ hash: _, ...record }: StoredApiKey): ApiKeyRecord {
  return record;
}
