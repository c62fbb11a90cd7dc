// Keeps the key that a host seals secrets with in a file of its own, apart from the database and snapshots that hold
// the sealed secrets: a copy of those alone cannot be unsealed.

import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { syncFolderNow } from "../../machinery/folder-sync.ts";
import { type Logger, silentLogger } from "../../plugin/logger.ts";
import { createKey, createSecrets, type Secrets } from "../../plugin/ports/secrets.ts";
import { messageOf } from "../../protocol/errors.ts";

export interface KeyFileOptions {
  path: string;
  log?: Logger;
}

/**
 * Reads an existing key now, so that a damaged file stops the start of a host instead of failing a call. Without a
 * file, creates a key when the first secret is sealed. Synchronous, as the port is: it happens once in the life of a
 * data folder.
 */
export function openKeyFile({ path, log = silentLogger }: KeyFileOptions): Secrets {
  let key = readKey(path, log);
  let secrets = key === undefined ? undefined : createSecrets(key);
  let unwritten: Secrets | undefined;
  return {
    seal(secret, purpose) {
      key ??= createKeyFile(path, log);
      secrets ??= createSecrets(key);
      return secrets.seal(secret, purpose);
    },
    // Without a key, no secret was ever sealed here.
    unseal: (sealed, purpose) => secrets?.unseal(sealed, purpose),
    handle: (secret, purpose) => derive().handle(secret, purpose),
    deriveKey: (purpose) => derive().deriveKey(purpose),
  };

  function derive(): Secrets {
    if (secrets !== undefined) return secrets;
    try {
      key ??= createKeyFile(path, log);
      secrets = createSecrets(key);
      return secrets;
    } catch (error) {
      // A host whose data folder is read-only still runs: its handles and tokens change with each start.
      log.warn("the key file could not be written", { path, error });
      unwritten ??= createSecrets(createKey());
      return unwritten;
    }
  }
}

const { O_NOFOLLOW = 0, O_RDONLY } = constants;
const ownerOnly = 0o600;
const anyoneElse = 0o077;

function readKey(path: string, log: Logger): Buffer | undefined {
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW);
  } catch (cause) {
    if (hasCode(cause, "ENOENT")) return undefined;
    const why = hasCode(cause, "ELOOP") ? "it is a symbolic link" : messageOf(cause);
    throw new Error(`the key file ${path} cannot be read: ${why}`, { cause });
  }
  try {
    protect(file, path, log);
    return parseKey(readFileSync(file, "utf8"), path);
  } finally {
    closeSync(file);
  }
}

/** Other users may already have read a key that they can read: the key still works, and a warning is logged. */
function protect(file: number, path: string, log: Logger): void {
  const found = fstatSync(file);
  if (!found.isFile()) throw new Error(`the key file ${path} is not a regular file`);
  // Windows does not have such modes and reports invented ones.
  if (process.platform === "win32" || (found.mode & anyoneElse) === 0) return;
  try {
    fchmodSync(file, ownerOnly);
  } catch (cause) {
    throw new Error(`the key file ${path} can be read by others, and its mode cannot be changed: chmod 600 it`, {
      cause,
    });
  }
  log.warn(
    "the key file could be read by others; its mode is 600 now. Renew the secrets if another user may have read it",
    {
      path,
    },
  );
}

function parseKey(text: string, path: string): Buffer {
  const line = text.trim();
  const key = Buffer.from(line, "base64");
  // Decoding skips characters that are not base64; only valid base64 encodes to the same text again.
  if (key.length === createKey().length && key.toString("base64") === line) return key;
  throw new Error(
    `the key file ${path} is damaged: restore it from a backup, or remove it and configure every secret again`,
  );
}

/** There whole or not at all, and never twice: of two hosts that start at once, both end with the key of the first. */
function createKeyFile(path: string, log: Logger): Buffer {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const key = createKey();
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = openSync(draft, "wx", ownerOnly);
    try {
      // Sets the mode again, because the umask may have removed bits of it.
      fchmodSync(file, ownerOnly);
      writeFileSync(file, `${key.toString("base64")}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    // Unlike a rename, a link never replaces an existing file.
    linkSync(draft, path);
    syncFolderNow(dirname(path));
    return key;
  } catch (cause) {
    const other = hasCode(cause, "EEXIST") ? readKey(path, log) : undefined;
    if (other !== undefined) return other;
    throw new Error(`the key file ${path} cannot be made: ${messageOf(cause)}`, { cause });
  } finally {
    removeDraft(draft);
  }
}

function removeDraft(draft: string): void {
  try {
    unlinkSync(draft);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
