// Checkpoints (c2sp.org/tlog-checkpoint): the name of a log, its size and its root, as the text of a signed note.
import { fromBase64, toBase64 } from "./base64.ts";
import { hashBytes, type TreeHead } from "./merkle.ts";
import { parseNote, type VerifySignature } from "./note.ts";

export interface Checkpoint extends TreeHead {
  /** The name of the log. */
  readonly origin: string;
}

/** The text to sign. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

/** Undefined if the text is not a checkpoint. Further lines are allowed: they belong to extensions. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const [origin, sizeText = "", rootText = "", ...rest] = text.split("\n");
  const size = parseCount(sizeText);
  const root = fromBase64(rootText);
  if (!origin || size === undefined || root?.length !== hashBytes) return undefined;
  // The text ends with a newline, and an extension line is not empty.
  if (rest.at(-1) !== "" || rest.slice(0, -1).includes("")) return undefined;
  return { origin, size, root };
}

/** The checkpoint of a note that has a valid signature; undefined for any other text. */
export function openCheckpoint(note: string, verify: VerifySignature): Checkpoint | undefined {
  const parsed = parseNote(note);
  if (parsed === undefined) return undefined;
  const checkpoint = parseCheckpoint(parsed.text);
  return parsed.signatures.some((signature) => verify(parsed.text, signature)) ? checkpoint : undefined;
}

/** A decimal number without leading zeros; undefined for any other text. */
export function parseCount(text: string): number | undefined {
  return /^(0|[1-9][0-9]{0,15})$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}
