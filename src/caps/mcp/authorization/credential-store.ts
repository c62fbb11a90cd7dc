// Tokens and client registrations from authorisation servers, encrypted: a copy of the database is of no use without
// the key.
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { Database } from "../../../plugin/ports/database.ts";
import type { Secrets } from "../../../plugin/ports/secrets.ts";

/** The credentials of one owner for one server. */
export interface Credentials {
  readonly tokens?: StoredOAuthTokens | undefined;
  readonly client?: StoredOAuthClientInformation | undefined;
  readonly discovery?: OAuthDiscoveryState | undefined;
}

export interface CredentialStore {
  get(owner: string, server: string): Credentials;
  set(owner: string, server: string, credentials: Credentials): void;
}

const migrations = [
  "CREATE TABLE mcp_credentials (owner TEXT, server TEXT, sealed TEXT NOT NULL, PRIMARY KEY (owner, server)) WITHOUT ROWID",
];

export function openCredentialStore(database: Database, secrets: Secrets): CredentialStore {
  database.migrate("mcp_credentials", migrations);
  const read = database.prepare("SELECT sealed FROM mcp_credentials WHERE owner = ? AND server = ?");
  const write = database.prepare("INSERT OR REPLACE INTO mcp_credentials (owner, server, sealed) VALUES (?, ?, ?)");
  return {
    get(owner, server) {
      const sealed = read.get(owner, server)?.sealed;
      const text = typeof sealed === "string" ? secrets.unseal(sealed, purposeOf(owner, server)) : undefined;
      return text === undefined ? {} : (JSON.parse(text) as Credentials);
    },
    set(owner, server, credentials) {
      const sealed = secrets.seal(JSON.stringify(credentials), purposeOf(owner, server));
      database.write(() => write.run(owner, server, sealed));
    },
  };
}

/** For hosts without a database: the credentials are lost when the process ends. */
export function createMemoryCredentialStore(): CredentialStore {
  const kept = new Map<string, Credentials>();
  return {
    get: (owner, server) => kept.get(purposeOf(owner, server)) ?? {},
    set: (owner, server, credentials) => void kept.set(purposeOf(owner, server), credentials),
  };
}

/** Part of the sealed text: a row that is copied to another owner or server cannot be decrypted there. */
function purposeOf(owner: string, server: string): string {
  return `mcp-oauth ${JSON.stringify([owner, server])}`;
}
