// Ed25519 keys of signed notes. The verifier key is public: an auditor needs it to check anything that the log signed.
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { fromBase64, isEqual, toBase64 } from "../proofs/base64.ts";
import { formatSignature, isKeyName, type NoteSignature, type VerifySignature } from "../proofs/note.ts";

/** The type byte of an Ed25519 key for notes. */
const ed25519 = 1;
const keyBytes = 32;
/** What DER puts before the 32 bytes of a key (RFC 8410). */
const publicPrefix = Buffer.from("302a300506032b6570032100", "hex");
const privatePrefix = Buffer.from("302e020100300506032b657004220420", "hex");

export interface NoteSigner {
  readonly name: string;
  /** `name+hash+base64`, for auditors. */
  readonly verifierKey: string;
  readonly verify: VerifySignature;
  /** The note: the text, an empty line and the signature. The text ends with a newline. */
  sign(text: string): string;
}

/** A signer from the 32 secret bytes of an Ed25519 key. */
export function createNoteSigner(name: string, seed: Uint8Array): NoteSigner {
  if (!isKeyName(name)) throw new Error(`"${name}" cannot be the name of a key: it must not have spaces or "+"`);
  if (seed.length !== keyBytes) throw new Error(`an Ed25519 key has ${keyBytes} bytes, this one ${seed.length}`);
  const key = createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(key);
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(publicPrefix.length);
  const keyId = idOf(name, raw);
  return {
    name,
    verifierKey: `${name}+${keyId.toString("hex")}+${toBase64(Buffer.concat([Buffer.of(ed25519), raw]))}`,
    verify: createVerifier(name, keyId, publicKey),
    sign: (text) => `${text}\n${formatSignature({ name, keyId, signature: sign(null, Buffer.from(text), key) })}`,
  };
}

/** Undefined if the text is not a verifier key of Ed25519. */
export function parseVerifierKey(text: string): { name: string; verify: VerifySignature } | undefined {
  const [, name = "", hash, encoded = ""] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = fromBase64(encoded);
  if (!isKeyName(name) || bytes?.length !== 1 + keyBytes || bytes[0] !== ed25519) return undefined;
  const raw = Buffer.from(bytes.subarray(1));
  const keyId = idOf(name, raw);
  if (keyId.toString("hex") !== hash) return undefined;
  const key = createPublicKey({ key: Buffer.concat([publicPrefix, raw]), format: "der", type: "spki" });
  return { name, verify: createVerifier(name, keyId, key) };
}

function createVerifier(name: string, keyId: Buffer, key: KeyObject): VerifySignature {
  return (text, signature: NoteSignature) =>
    signature.name === name &&
    isEqual(signature.keyId, keyId) &&
    verify(null, Buffer.from(text), key, signature.signature);
}

function idOf(name: string, key: Uint8Array): Buffer {
  return createHash("sha256").update(`${name}\n`).update(Buffer.of(ed25519)).update(key).digest().subarray(0, 4);
}
