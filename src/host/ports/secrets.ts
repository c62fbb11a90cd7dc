// How plugins keep what nobody may read in a database, a snapshot or a log: tokens, passwords, keys.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

export interface Secrets {
  /** A text that only this host can read again, safe to store anywhere. The purpose is bound into it. */
  seal(secret: string, purpose: string): string;
  /** What was sealed for this purpose; undefined where it was not sealed here, for this, or was changed since. */
  unseal(sealed: string, purpose: string): string | undefined;
}

/** Tells a sealed text from any other, and one way of sealing from the next. */
const prefix = "sealed:1:";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export function createKey(): Buffer {
  return randomBytes(keyBytes);
}

/** Seals with AES-256-GCM: whoever lacks the key can neither read a secret nor change it unnoticed. */
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
  };
}
