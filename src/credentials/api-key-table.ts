// API keys in the tables of a database. Other processes write to it too: `a2e keys` while the host runs.
import type { Database, SqlRow } from "../plugin/ports/database.ts";

export interface ApiKeyRecord {
  readonly id: string;
  readonly label: string;
  readonly roles: readonly string[];
  /** Undefined for no restriction beyond the roles. */
  readonly scopes?: readonly string[];
  /** Times are in milliseconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly rotatedAt?: number;
  readonly lastUsedAt?: number;
  readonly revokedAt?: number;
}

export type StoredApiKey = ApiKeyRecord & { readonly hash: Uint8Array };

/** `rotated`: the key has a new secret, and the old one is not accepted any more. */
export interface KeyRevocation {
  readonly keyId: string;
  readonly reason: "revoked" | "rotated";
}

/** Revocations are rows of their own, numbered in order, so that a running host finds those of other processes. */
const migrations = [
  `CREATE TABLE api_key (
    id TEXT PRIMARY KEY, hash BLOB NOT NULL, label TEXT NOT NULL, roles TEXT NOT NULL, scopes TEXT,
    created_at INTEGER NOT NULL, expires_at INTEGER, rotated_at INTEGER, last_used_at INTEGER, revoked_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE api_key_revocation (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key_id TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL
  ) STRICT;`,
];

export type ApiKeyTable = ReturnType<typeof createApiKeyTable>;

export function createApiKeyTable(database: Database) {
  database.migrate("api_keys", migrations);
  const insert = database.prepare(
    "INSERT INTO api_key (id, hash, label, roles, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const find = database.prepare("SELECT * FROM api_key WHERE id = ?");
  const list = database.prepare("SELECT * FROM api_key ORDER BY created_at, id");
  const touch = database.prepare("UPDATE api_key SET last_used_at = ? WHERE id = ?");
  const revoke = database.prepare("UPDATE api_key SET revoked_at = ? WHERE id = ?");
  const rotate = database.prepare("UPDATE api_key SET hash = ?, rotated_at = ?, expires_at = ? WHERE id = ?");
  const addRevocation = database.prepare("INSERT INTO api_key_revocation (key_id, reason, at) VALUES (?, ?, ?)");
  const lastRevocation = database.prepare("SELECT coalesce(max(number), 0) AS number FROM api_key_revocation");
  const revocations = database.prepare(
    "SELECT number, key_id, reason FROM api_key_revocation WHERE number > ? ORDER BY number",
  );
  return {
    /** Keeps other processes from writing between the statements of `work`. */
    write: <Result>(work: () => Result): Result => database.write(work),
    insert({ id, hash, label, roles, scopes, createdAt, expiresAt }: StoredApiKey): void {
      const scopeText = scopes === undefined ? null : JSON.stringify(scopes);
      database.write(() => insert.run(id, hash, label, JSON.stringify(roles), scopeText, createdAt, expiresAt ?? null));
    },
    /** Always current, also if another process has just changed the key. */
    find(id: string): StoredApiKey | undefined {
      const row = find.get(id);
      return row === undefined ? undefined : toRecord(row);
    },
    list: (): StoredApiKey[] => list.all().map(toRecord),
    touch: (id: string, at: number): void => void database.write(() => touch.run(at, id)),
    revoke(id: string, at: number): void {
      database.write(() => {
        revoke.run(at, id);
        addRevocation.run(id, "revoked", at);
      });
    },
    rotate(id: string, hash: Uint8Array, { at, expiresAt }: { at: number; expiresAt: number | undefined }): void {
      database.write(() => {
        rotate.run(hash, at, expiresAt ?? null, id);
        addRevocation.run(id, "rotated", at);
      });
    },
    lastRevocation: (): number => Number(lastRevocation.get()?.number),
    revocationsAfter(number: number): (KeyRevocation & { number: number })[] {
      return revocations.all(number).map((row) => ({
        number: Number(row.number),
        keyId: String(row.key_id),
        reason: row.reason === "rotated" ? "rotated" : "revoked",
      }));
    },
  };
}

function toRecord(row: SqlRow): StoredApiKey {
  return {
    id: String(row.id),
    hash: row.hash as Uint8Array,
    label: String(row.label),
    roles: JSON.parse(String(row.roles)) as string[],
    ...(row.scopes === null ? {} : { scopes: JSON.parse(String(row.scopes)) as string[] }),
    createdAt: Number(row.created_at),
    ...(row.expires_at === null ? {} : { expiresAt: Number(row.expires_at) }),
    ...(row.rotated_at === null ? {} : { rotatedAt: Number(row.rotated_at) }),
    ...(row.last_used_at === null ? {} : { lastUsedAt: Number(row.last_used_at) }),
    ...(row.revoked_at === null ? {} : { revokedAt: Number(row.revoked_at) }),
  };
}
