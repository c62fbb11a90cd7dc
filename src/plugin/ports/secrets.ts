// The port with which plugins encrypt tokens, passwords and keys before they are stored in a database or a snapshot.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

export interface Secrets {
  /** Encrypts a secret. Only this host can decrypt it, and only for the same purpose. */
  seal(secret: string, purpose: string): string;
  /** The secret; undefined if the text was sealed by another host, for another purpose, or was changed since. */
  unseal(sealed: string, purpose: string): string | undefined;
  /**
   * A short name for a secret that people may see: 16 hexadecimal digits, the same for the same secret and purpose. Without
   * the key of the host it reveals nothing about the secret.
   */
  handle(secret: string, purpose: string): string;
  /** A key of 32 bytes for this purpose only, always the same. It reveals neither the host's key nor other such keys. */
  deriveKey(purpose: string): Uint8Array;
}

/** Identifies sealed texts, and the version of their format. */
const prefix = "sealed:1:";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const handleDigits = 16;

export function createKey(): Buffer {
  return randomBytes(keyBytes);
}

/** Uses AES-256-GCM: without the key, a secret can neither be read nor changed without detection. */
export function createSecrets(key: Buffer): Secrets {
  if (key.length !== keyBytes) throw new Error(`a key has ${keyBytes} bytes, this one ${key.length}`);
  return {
    seal(secret, purpose) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(purpose));
      const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return prefix + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64");
    },
    unseal(sealed, purpose) {
      if (!sealed.startsWith(prefix)) return undefined;
      const bytes = Buffer.from(sealed.slice(prefix.length), "base64");
      if (bytes.length < nonceBytes + tagBytes) return undefined;
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes))
          .setAAD(Buffer.from(purpose))
          .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
        const text = bytes.subarray(nonceBytes + tagBytes);
        return Buffer.concat([decipher.update(text), decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
    handle: (secret, purpose) =>
      createHmac("sha256", key).update(`handle\0${purpose}\0${secret}`).digest("hex").slice(0, handleDigits),
    deriveKey: (purpose) => createHmac("sha256", key).update(`key\0${purpose}`).digest(),
  };
}
