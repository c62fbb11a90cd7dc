// The secret key of an audit log in a file that only its owner can read. It is created once: with another key, auditors
// would take the log for another log.
import { randomBytes } from "node:crypto";
import { closeSync, constants, fchmodSync, fstatSync, fsyncSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolderNow } from "../machinery/folder-sync.ts";
import { fromBase64, toBase64 } from "../proofs/base64.ts";
import { createNoteSigner, type NoteSigner } from "./note-key.ts";

const first = "PRIVATE+KEY+a2e-audit";
const { O_NOFOLLOW = 0, O_RDONLY } = constants;

export interface AuditKey {
  readonly signer: NoteSigner;
  /** Whether the key was created now. */
  readonly isNew: boolean;
}

/** Reads the key, or creates it under this name. The name in an existing file is kept. */
export function openAuditKey(path: string, name: string): AuditKey {
  const known = readAuditKey(path);
  if (known !== undefined) return { signer: known, isNew: false };
  const seed = randomBytes(32);
  const signer = createNoteSigner(name, seed);
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, `${first} ${name} ${toBase64(seed)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncFolderNow(dirname(path));
  return { signer, isNew: true };
}

/** Undefined if there is no such file. Throws if it is not a key. */
export function readAuditKey(path: string): NoteSigner | undefined {
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`the key of the audit log cannot be read: ${path}`, { cause });
  }
  try {
    // Windows has no such modes.
    if (process.platform !== "win32" && (fstatSync(file).mode & 0o077) !== 0) fchmodSync(file, 0o600);
    const [mark, name = "", encoded = ""] = readFileSync(file, "utf8").trim().split(" ");
    const seed = fromBase64(encoded);
    if (mark !== first || seed?.length !== 32)
      throw new Error(`${path} is not the key of an audit log: restore it from a backup`);
    return createNoteSigner(name, seed);
  } finally {
    closeSync(file);
  }
}
