import type { JWTVerifyGetKey, LocalJWKSet } from "jose";
import type { Logger } from "../plugin/logger.ts";
import type { Clock } from "../protocol/envelope.ts";
import { messageOf } from "../protocol/errors.ts";
import { discoverKeys, fetchDocument, type IssuerNetwork } from "./issuer-documents.ts";

/** Keys are fetched again after this. */
const freshMs = 10 * 60_000;
/** If they cannot be fetched, the last known keys are used for this long. */
const staleMs = 6 * freshMs;
/** At least this long between two fetches: a flood of tokens with unknown keys must not become one of requests. */
const cooldownMs = 30_000;

/** This host cannot decide whether a token is right, because it cannot get the keys of its issuer. */
export class KeysUnavailableError extends Error {
  override readonly name = "KeysUnavailableError";
}

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Found by discovery if undefined. */
  readonly jwksUri: string | undefined;
  readonly clock: Clock;
  readonly network: IssuerNetwork;
  readonly log: Logger;
}

/**
 * The public keys of an issuer, fetched when they are first needed. Not the remote key set of jose: that one has no
 * pause after a failed fetch, no use of known keys while the issuer is down, and no limit of size.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #known: { keys: LocalJWKSet; fetchedAt: number } | undefined;
  #attempt: { at: number; error?: unknown } | undefined;
  #fetching: Promise<void> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The key for a token. Rejects with a KeysUnavailableError, or with an error of jose if there is no such key. */
  readonly find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    if (this.#ageMs() > freshMs) await this.#refresh();
    const { errors } = await import("jose");
    try {
      return await this.#usable()(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The issuer may have a new key since.
      await this.#refresh();
      if (this.#attempt?.error !== undefined) throw this.#unavailable();
      return this.#usable()(header, token);
    }
  };

  #usable(): LocalJWKSet {
    if (this.#known !== undefined && this.#ageMs() <= staleMs) return this.#known.keys;
    throw this.#unavailable();
  }

  #unavailable(): KeysUnavailableError {
    const cause = this.#attempt?.error;
    const text = `the keys of the issuer ${this.#options.issuer} cannot be fetched: ${messageOf(cause)}`;
    return new KeysUnavailableError(text, { cause });
  }

  #ageMs(): number {
    if (this.#known === undefined) return Number.POSITIVE_INFINITY;
    return this.#options.clock.now() - this.#known.fetchedAt;
  }

  /** Fetches the keys unless that was tried a moment ago. Never rejects: the outcome is in `#attempt`. */
  async #refresh(): Promise<void> {
    const now = this.#options.clock.now();
    if (this.#fetching === undefined && this.#attempt !== undefined && now - this.#attempt.at < cooldownMs) return;
    this.#fetching ??= this.#fetch(now).finally(() => {
      this.#fetching = undefined;
    });
    await this.#fetching;
  }

  async #fetch(at: number): Promise<void> {
    const { issuer, jwksUri, network } = this.#options;
    try {
      const { createLocalJWKSet } = await import("jose");
      // Discovered again each time: an issuer may move its keys.
      const document = await fetchDocument(jwksUri ?? (await discoverKeys(issuer, network)), network);
      // Throws if it is not a key set.
      const keys = createLocalJWKSet(document as unknown as Parameters<typeof createLocalJWKSet>[0]);
      this.#known = { keys, fetchedAt: at };
      this.#attempt = { at };
    } catch (error) {
      this.#attempt = { at, error };
      // Here and not for each token: a log must not grow as fast as tokens are presented.
      this.#options.log.warn("the keys of an issuer of JWTs could not be fetched", { issuer, error });
    }
  }
}
