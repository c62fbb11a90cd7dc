// Makes an agent a witness of its hosts' audit logs: it keeps the newest checkpoint of each host, and when it returns the
// host must prove that its log continues that checkpoint. Only in bundles that use it.
import { sha256 } from "@noble/hashes/sha2.js";
import { checkContinuation, readCheckpoint } from "../proofs/continuation.ts";
import { A2EConnectionError } from "./errors.ts";

/** Where an agent keeps checkpoints. Each is a text of about 200 bytes. */
export interface CheckpointStore {
  /** The newest checkpoint of a host; undefined if none was kept. */
  read(host: string): string | undefined | Promise<string | undefined>;
  /** Replaces the checkpoint of a host. */
  write(host: string, checkpoint: string): void | Promise<void>;
}

/** For one process. */
export function createMemoryCheckpoints(): CheckpointStore {
  const notes = new Map<string, string>();
  return { read: (host) => notes.get(host), write: (host, note) => void notes.set(host, note) };
}

export interface WitnessOptions {
  store: CheckpointStore;
  /** The name of the host in the store, for example its address. Not a name that the host itself sends. */
  host: string;
  /** Called before `connect` rejects with `audit_fork`, for example to warn a person. */
  onFork?(error: A2EConnectionError): void;
}

/** The side of a witness that a client uses. */
export interface AuditWitness {
  /** The size of the checkpoint to name in the handshake. */
  heldSize(): Promise<number | undefined>;
  /** Checks and keeps the checkpoint of a handshake. Rejects if the log does not continue the one that was kept. */
  accept(audit: { checkpoint: string; proof?: readonly string[] | undefined } | undefined): Promise<void>;
}

export function createAuditWitness({ store, host, onFork }: WitnessOptions): AuditWitness {
  return {
    async heldSize() {
      const held = await store.read(host);
      return held === undefined ? undefined : readCheckpoint(held)?.size;
    },
    async accept(audit) {
      const held = await store.read(host);
      const problem = findProblem(held, audit);
      if (problem !== undefined) {
        const error = new A2EConnectionError("audit_fork", problem);
        onFork?.(error);
        throw error;
      }
      if (audit !== undefined && audit.checkpoint !== held) await store.write(host, audit.checkpoint);
    },
  };
}

function findProblem(held: string | undefined, audit: Parameters<AuditWitness["accept"]>[0]): string | undefined {
  if (held === undefined)
    return audit === undefined || readCheckpoint(audit.checkpoint) !== undefined
      ? undefined
      : "the host sent something that is not a checkpoint";
  if (audit === undefined) return "the host sent no checkpoint of its audit log; it did before";
  const result = checkContinuation(sha256, held, audit.checkpoint, audit.proof ?? []);
  return result.isContinued ? undefined : result.reason;
}
