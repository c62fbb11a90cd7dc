// Signed notes (c2sp.org/signed-note): a text, an empty line, and a line for each signature. A note comes from others and
// may contain anything, so parsing is strict and bounded.
import { fromBase64, toBase64 } from "./base64.ts";

export interface NoteSignature {
  /** The name of the key. */
  readonly name: string;
  /** The first bytes of the key's hash: they tell apart two keys of the same name. */
  readonly keyId: Uint8Array;
  readonly signature: Uint8Array;
}

export interface SignedNote {
  /** The signed text, with its final newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Returns whether the signature is valid for the text. */
export type VerifySignature = (text: string, signature: NoteSignature) => boolean;

const maxNoteLength = 1_000_000;
const maxSignatures = 100;
const keyIdBytes = 4;
const dash = "\u2014";

/** Undefined if it is not a signed note. A signature is not checked here. */
export function parseNote(note: string): SignedNote | undefined {
  if (note.length > maxNoteLength || !note.endsWith("\n")) return undefined;
  // Control characters could hide a part of the text from a reader; a lone surrogate has no bytes to sign.
  if (/[\p{Cc}\p{Cs}]/u.test(note.replaceAll("\n", ""))) return undefined;
  const split = note.lastIndexOf("\n\n");
  if (split < 0) return undefined;
  const lines = note.slice(split + 2, -1).split("\n");
  if (lines.length > maxSignatures) return undefined;
  const signatures: NoteSignature[] = [];
  for (const line of lines) {
    const signature = parseSignature(line);
    if (signature === undefined) return undefined;
    signatures.push(signature);
  }
  return { text: note.slice(0, split + 1), signatures };
}

function parseSignature(line: string): NoteSignature | undefined {
  const [mark, name, encoded, ...rest] = line.split(" ");
  if (mark !== dash || name === undefined || encoded === undefined || rest.length > 0) return undefined;
  const bytes = fromBase64(encoded);
  if (!isKeyName(name) || bytes === undefined || bytes.length <= keyIdBytes) return undefined;
  return { name, keyId: bytes.slice(0, keyIdBytes), signature: bytes.slice(keyIdBytes) };
}

export function isKeyName(name: string): boolean {
  return name !== "" && !/[\s+]/u.test(name);
}

export function formatSignature({ name, keyId, signature }: NoteSignature): string {
  const bytes = new Uint8Array(keyId.length + signature.length);
  bytes.set(keyId);
  bytes.set(signature, keyId.length);
  return `${dash} ${name} ${toBase64(bytes)}\n`;
}
