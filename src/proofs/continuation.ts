// Makes every agent a witness: it keeps the last checkpoint of a host, and when it returns it asks for a proof that the new
// checkpoint continues the old one. A host that has rolled back or rewritten its audit log cannot make that proof.
import { fromBase64 } from "./base64.ts";
import { type Checkpoint, parseCheckpoint } from "./checkpoint-text.ts";
import { type Hash, isConsistent } from "./merkle.ts";
import { parseNote } from "./note.ts";

export type Continuation =
  | { readonly isContinued: true; readonly checkpoint: Checkpoint }
  | { readonly isContinued: false; readonly reason: string };

/**
 * Whether the log of the newer note begins with the log of the older note. `proof` has the hashes in base64. Signatures are
 * not checked here: the older note is the agent's own copy, and a forged newer note has no valid proof.
 */
export function checkContinuation(hash: Hash, older: string, newer: string, proof: readonly string[]): Continuation {
  const [kept, sent] = [readCheckpoint(older), readCheckpoint(newer)];
  if (kept === undefined) return refused("the kept text is not a checkpoint");
  if (sent === undefined) return refused("the host sent something that is not a checkpoint");
  if (kept.origin !== sent.origin)
    return refused(`the host has another audit log, ${sent.origin} instead of ${kept.origin}`);
  if (kept.size > sent.size)
    return refused(`the audit log of the host has ${sent.size} entries; it had ${kept.size}: it was rolled back`);
  const hashes = proof.map(fromBase64);
  const isProven =
    hashes.every((bytes) => bytes !== undefined) && isConsistent(hash, kept, sent, hashes as Uint8Array[]);
  if (!isProven)
    return refused(`the audit log of the host does not continue its first ${kept.size} entries: it was rewritten`);
  return { isContinued: true, checkpoint: sent };
}

/** The checkpoint of a note whose signature is not checked; undefined for any other text. */
export function readCheckpoint(note: string): Checkpoint | undefined {
  const parsed = parseNote(note);
  return parsed === undefined ? undefined : parseCheckpoint(parsed.text);
}

function refused(reason: string): Continuation {
  return { isContinued: false, reason };
}
