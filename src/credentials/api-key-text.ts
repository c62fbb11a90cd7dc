// The text of an API key: `a2e_<id>_<secret>`. Ids have no underscore, so that the text splits in one way only.
import { createHash, randomBytes } from "node:crypto";

const secretBytes = 32;
const shape = /^a2e_([a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?)_[0-9a-f]{64}$/;

/** Ids are chosen by people, and appear in logs and in the id of the principal. */
export function isApiKeyId(text: string): boolean {
  return idOfApiKey(toApiKey(text, Buffer.alloc(secretBytes))) === text;
}

export function createApiKeyText(id: string, random: (bytes: number) => Buffer = randomBytes): string {
  return toApiKey(id, random(secretBytes));
}

/** Undefined if the text does not have the form of a key. */
export function idOfApiKey(text: string): string | undefined {
  return text.length > 140 ? undefined : shape.exec(text)?.[1];
}

/** Fast is right here: a secret of 256 random bits cannot be guessed, unlike a password. */
export function hashApiKey(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function toApiKey(id: string, secret: Buffer): string {
  return `a2e_${id}_${secret.toString("hex")}`;
}
