import { createHash } from "node:crypto";
import type { ProvenIdentity } from "./credential.ts";

/** A removed key of an issuer must not be honoured much longer than keys are remembered. */
const longestMs = 10 * 60_000;

/** Remembers the identities of tokens that were verified, by their hash: a signature is expensive to check. */
export class VerifiedTokens {
  readonly #identities = new Map<string, { identity: ProvenIdentity; until: number }>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  find(token: string, now: number): ProvenIdentity | undefined {
    const hash = digest(token);
    const found = this.#identities.get(hash);
    if (found === undefined || now < found.until) return found?.identity;
    this.#identities.delete(hash);
    return undefined;
  }

  /** Forgets the oldest if there are too many. */
  add(token: string, identity: ProvenIdentity, now: number): void {
    const until = Math.min(identity.expiresAt ?? Number.POSITIVE_INFINITY, now + longestMs);
    const hash = digest(token);
    this.#identities.delete(hash);
    this.#identities.set(hash, { identity, until });
    if (this.#identities.size <= this.#max) return;
    for (const oldest of this.#identities.keys()) {
      this.#identities.delete(oldest);
      return;
    }
  }
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
