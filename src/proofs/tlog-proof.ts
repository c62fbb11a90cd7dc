// Proofs in a file of their own (c2sp.org/tlog-proof): the index of an entry, its path in the tree, and the checkpoint. The
// entry itself is in `extra`, so the file can be checked without the log.
import { fromBase64, toBase64 } from "./base64.ts";
import { type Checkpoint, openCheckpoint, parseCount } from "./checkpoint-text.ts";
import { type Hash, hashBytes, hashLeaf, isIncluded } from "./merkle.ts";
import type { VerifySignature } from "./note.ts";

export interface TlogProof {
  readonly entry: Uint8Array;
  readonly index: number;
  /** From the leaf's sibling up to the root's child. */
  readonly path: readonly Uint8Array[];
  /** The signed note. */
  readonly checkpoint: string;
}

const firstLine = "c2sp.org/tlog-proof@v1";
/** A tree whose size is a safe integer is not higher than this. */
const maxPath = 63;
const maxLength = 2_000_000;

export function formatProof({ entry, index, path, checkpoint }: TlogProof): string {
  const head = [firstLine, `extra ${toBase64(entry)}`, `index ${index}`, ...path.map(toBase64)];
  return `${head.join("\n")}\n\n${checkpoint}`;
}

/** Undefined if the text is not a proof with its entry. Nothing is checked here. */
export function parseProof(text: string): TlogProof | undefined {
  const split = text.indexOf("\n\n");
  if (text.length > maxLength || split < 0) return undefined;
  const [first, extra, indexLine, ...hashes] = text.slice(0, split).split("\n");
  if (first !== firstLine || !extra?.startsWith("extra ") || !indexLine?.startsWith("index ")) return undefined;
  const entry = fromBase64(extra.slice("extra ".length));
  const index = parseCount(indexLine.slice("index ".length));
  const path = hashes.map(fromBase64);
  if (entry === undefined || index === undefined || path.length > maxPath || !path.every(isHash)) return undefined;
  return { entry, index, path, checkpoint: text.slice(split + 2) };
}

function isHash(bytes: Uint8Array | undefined): bytes is Uint8Array {
  return bytes?.length === hashBytes;
}

export type CheckedProof =
  | { readonly isValid: true; readonly entry: Uint8Array; readonly index: number; readonly checkpoint: Checkpoint }
  | { readonly isValid: false; readonly reason: string };

/** Checks a proof with nothing but the key of the log. */
export function checkProof(text: string, hash: Hash, verify: VerifySignature): CheckedProof {
  const proof = parseProof(text);
  if (proof === undefined) return { isValid: false, reason: "this is not a proof file with its entry" };
  const checkpoint = openCheckpoint(proof.checkpoint, verify);
  if (checkpoint === undefined)
    return { isValid: false, reason: "the checkpoint in the file is not signed with this key" };
  const { entry, index, path } = proof;
  if (!isIncluded(hash, hashLeaf(hash, entry), index, path, checkpoint))
    return {
      isValid: false,
      reason: `the entry in the file is not entry ${index} of the log that the checkpoint signs`,
    };
  return { isValid: true, entry, index, checkpoint };
}
