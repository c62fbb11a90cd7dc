// Makes each agent a witness of the audit log: the answer to its handshake has the newest checkpoint, and the proof that
// the log continues the checkpoint which the agent got earlier.
import type { Logger } from "../../plugin/logger.ts";
import type { handshake } from "../../protocol/core.ts";
import type { ResultInputOf } from "../../protocol/table/capability.ts";
import type { AuditProofs } from "../ports/audit.ts";

/** Undefined if the host has no log that proves itself, or no checkpoint yet. */
export function witnessedBy(
  proofs: AuditProofs | undefined,
  heldSize: number | undefined,
  log: Logger,
): ResultInputOf<typeof handshake>["audit"] {
  const { note = "", size = 0 } = proofs?.checkpoint ?? {};
  if (proofs === undefined || note === "") return undefined;
  // Without a proof the agent sees by itself that the log has become shorter.
  if (heldSize === undefined || heldSize > size) return { checkpoint: note };
  try {
    const hashes = proofs.proveConsistency(heldSize);
    return { checkpoint: note, proof: hashes.map((hash) => Buffer.from(hash).toString("base64")) };
  } catch (error) {
    // An agent is let in even if a tile cannot be read; it reports the missing proof.
    log.error("the audit log cannot prove that it continues an earlier checkpoint", { size: heldSize, error });
    return { checkpoint: note };
  }
}
