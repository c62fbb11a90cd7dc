// Proves single entries of an audit log to an auditor who has only its public key.
import { openCheckpoint } from "../proofs/checkpoint-text.ts";
import type { VerifySignature } from "../proofs/note.ts";
import { formatProof } from "../proofs/tlog-proof.ts";
import { linesOf } from "./audit-block.ts";
import { TileFolder } from "./tiles.ts";
import { tileWidth } from "./tree.ts";
import { proveInclusion } from "./tree-proofs.ts";

export interface ProvenLine {
  /** The audit line of the request. */
  readonly line: string;
  readonly index: number;
  /** The file that `checkProof` of src/proofs checks. */
  readonly proof: string;
}

/**
 * The newest entry with this request id, below the newest checkpoint; undefined if there is none. Throws if the log has no
 * checkpoint of this key. `isMatch` can demand more of the parsed line, such as a session.
 */
export function proveRequest(
  path: string,
  verify: VerifySignature,
  requestId: string,
  isMatch: (line: Record<string, unknown>) => boolean = () => true,
): ProvenLine | undefined {
  const folder = new TileFolder(path);
  const note = folder.readCheckpoint();
  if (note === undefined) throw new Error(`${path} has no checkpoint: is it the folder of an audit log?`);
  const checkpoint = openCheckpoint(note, verify);
  if (checkpoint === undefined) throw new Error(`the checkpoint in ${path} is not signed with this key`);
  const { size } = checkpoint;
  const matches = ({ line }: { line: string }) => isLineOf(line, requestId, isMatch);
  for (const { index, entry } of newestBlocks(folder, size)) {
    const line = linesOf(entry).findLast((text) => matches({ line: text }));
    if (line === undefined) continue;
    const proofPath = proveInclusion({ size, source: folder }, index, size);
    return { line, index, proof: formatProof({ entry, index, path: proofPath, checkpoint: note }) };
  }
  return undefined;
}

/** The blocks below `size` that were not pruned, newest first. */
export function* newestBlocks(folder: TileFolder, size: number): Generator<{ index: number; entry: Uint8Array }> {
  const minimum = folder.readMinimum();
  for (let bundle = Math.ceil(size / tileWidth) - 1; bundle >= 0 && bundle * tileWidth >= minimum; bundle--) {
    const first = bundle * tileWidth;
    const entries = folder.readBundle(bundle, Math.min(tileWidth, size - first));
    for (let at = entries.length - 1; at >= 0; at--) yield { index: first + at, entry: entries[at] as Uint8Array };
  }
}

function isLineOf(text: string, requestId: string, isMatch: (line: Record<string, unknown>) => boolean): boolean {
  // Cheaper than parsing every line: almost none has the id.
  if (!text.includes(`"req_id":${toAscii(requestId)}`)) return false;
  const line = JSON.parse(text) as Record<string, unknown>;
  return line.req_id === requestId && isMatch(line);
}

/** Lines are ASCII: other characters are escaped in them. */
function toAscii(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
