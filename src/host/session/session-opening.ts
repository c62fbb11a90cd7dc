// How a session is opened: which agent is let in, with which capabilities, and which messages wait until its plugins
// are open. The methods return their decisions, and live-session.ts applies them.

import { type Identity, ownerOf, type Principal } from "../../plugin/principal.ts";
import { type Awaitable, andThen, isThenable } from "../../protocol/awaitable.ts";
import type { Decoded } from "../../protocol/codec.ts";
import type { handshake } from "../../protocol/core.ts";
import { detectDialect } from "../../protocol/dialects.ts";
import { isCompatibleVersion } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import { copyJson } from "../../protocol/json.ts";
import type { RequestOf, ResultInputOf } from "../../protocol/table/capability.ts";
import type { PeerCredentials } from "../authentication.ts";
import type { Kernel } from "../kernel.ts";
import { witnessedBy } from "./audit-witness.ts";
import { type Negotiation, negotiate } from "./handshake.ts";
import type { SessionParts } from "./session-parts.ts";

export type HandshakeAnswer = ResultInputOf<typeof handshake>;

/** A snapshot to restore once the owner of the session has completed a handshake. */
export interface Restoration {
  readonly owner: string;
  apply(): Promise<unknown>;
}

/** An agent that is let in, with the capabilities that it gets. */
export interface Admitted extends Pick<Negotiation, "granted" | "accepted_caps"> {
  readonly principal: Principal;
}

export interface HeldMessage {
  readonly decoded: Decoded;
  readonly bytesIn: number;
}

export class SessionOpening {
  readonly #kernel: Kernel;
  readonly #session: Pick<SessionParts, "scope" | "agent" | "open">;
  #restoration: Restoration | undefined;
  #failedHandshakes = 0;
  /** The owner that parts were opened for, even if some of them failed: the data in the parts belongs to it. */
  #triedFor: string | undefined;
  /** Messages that arrived while plugins were opening; undefined if messages are not held. */
  #held: HeldMessage[] | undefined;

  constructor(
    kernel: Kernel,
    session: Pick<SessionParts, "scope" | "agent" | "open">,
    restoration: Restoration | undefined,
  ) {
    this.#kernel = kernel;
    this.#session = session;
    this.#restoration = restoration;
  }

  /** True while plugins are opening and messages wait for them. */
  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  /** Decides on a handshake. Returns the granted capabilities, or the reason for a rejection. */
  admit(request: RequestOf<typeof handshake>, peer: PeerCredentials): Awaitable<Admitted | string> {
    const { limits, handlersOf } = this.#kernel;
    const { agent } = this.#session;
    const message = agent.handshake;
    // The session is closed in the next turn of the event loop; many guesses of a token may have arrived in this turn.
    if (this.#failedHandshakes >= limits.maxHandshakeAttempts) return "auth_failed";
    if (message !== undefined && !isCompatibleVersion(message.version ?? message.a2e)) return "version_mismatch";
    return andThen(
      this.#authenticate(request.agent_id, request.auth_token ? { ...peer, token: request.auth_token } : peer),
      (principal) => {
        if (typeof principal === "string") return principal;
        if (message !== undefined) agent.dialect = detectDialect(message);
        const { granted, accepted_caps, isFruitless } = negotiate(request.agent_caps, agent.dialect, handlersOf);
        return isFruitless ? "no_caps" : { principal, granted, accepted_caps };
      },
    );
  }

  /**
   * With `handshake.required: false`, an agent that starts with another request gets all capabilities, if
   * `authenticate` accepts it.
   */
  admitWithoutHandshake(peer: PeerCredentials): Awaitable<Admitted | string> {
    const granted = new Set(this.#kernel.handlersOf.keys());
    return andThen(this.#authenticate(this.#session.scope.info.principal.agentId, peer), (principal) =>
      typeof principal === "string" ? principal : { principal, granted, accepted_caps: [] },
    );
  }

  /** Messages are held while the credentials are being checked, for example at another server. */
  #authenticate(agent_id: string, peer: PeerCredentials): Awaitable<Principal | "auth_failed" | "server_error"> {
    try {
      const { token, certificate } = peer;
      const shown = certificate === undefined ? { agent_id, token } : { agent_id, token, certificate };
      const identity = this.#kernel.authenticate(shown);
      if (!isThenable(identity)) return this.#toPrincipal(identity, agent_id);
      this.#held ??= [];
      return identity.then(
        (known) => this.#toPrincipal(known, agent_id),
        (error: unknown) => this.#notAuthenticated(error),
      );
    } catch (error) {
      return this.#notAuthenticated(error);
    }
  }

  #notAuthenticated(error: unknown): "server_error" {
    this.#kernel.log.error("authenticate() threw", { session: this.#session.scope.info.handle, error });
    return "server_error";
  }

  #toPrincipal(identity: Identity | undefined, agentId: string): Principal | "auth_failed" {
    if (identity === undefined) return "auth_failed";
    const { id, isAuthenticated } = identity;
    // Without a spread if there is nothing else, for the reason that is given in `#answer`.
    const principal =
      identity.chain === undefined && identity.roles === undefined
        ? { id, agentId, isAuthenticated }
        : { ...identity, agentId: identity.agentId ?? agentId };
    const { life, info } = this.#session.scope;
    // A session belongs to the agent that it was opened for: another agent that has its id must not get it.
    const owner = life.hasOwner ? ownerOf(info.principal) : (this.#triedFor ?? this.#restoration?.owner);
    return owner === undefined || owner === ownerOf(principal) ? principal : "auth_failed";
  }

  /** `auditSize` is the size of the checkpoint that the agent holds. */
  accepted(accepted_caps: HandshakeAnswer["accepted_caps"], auditSize?: number): HandshakeAnswer {
    const answer = this.#answer(true, "", accepted_caps);
    const audit = witnessedBy(this.#kernel.audit.proven, auditSize, this.#kernel.log);
    if (audit !== undefined) answer.audit = audit;
    return answer;
  }

  /** The answer to a handshake that failed, and whether the agent has used up `maxHandshakeAttempts`. */
  rejected(reason: string): { answer: HandshakeAnswer; isLast: boolean } {
    this.#failedHandshakes += 1;
    const isLast = this.#failedHandshakes >= this.#kernel.limits.maxHandshakeAttempts;
    return { answer: this.#answer(false, reason, []), isLast };
  }

  #answer(ok: boolean, reason: string, accepted_caps: HandshakeAnswer["accepted_caps"]): HandshakeAnswer {
    const { maxParallelCalls: max_parallel } = this.#kernel.limits;
    // No spread: each field behind a spread costs most of a microsecond in Node 20.
    return { ok, reason, accepted_caps, session_id: this.#session.scope.info.id, max_parallel };
  }

  /**
   * Opens the parts of these capabilities for a principal, and restores the snapshot if there is one. False if a plugin
   * fails. Returns a promise only if a plugin or the restoration does; messages are held from then on.
   */
  open(owner: string, capabilities: ReadonlySet<string>): boolean | Promise<boolean> {
    this.#triedFor = owner;
    try {
      const opening = this.#session.open(capabilities);
      return opening === undefined && this.#restoration === undefined ? true : this.#openLater(opening);
    } catch (error) {
      return this.#failed(error);
    }
  }

  async #openLater(opening: Promise<unknown> | undefined): Promise<boolean> {
    this.#held ??= [];
    try {
      await opening;
      if (this.#restoration !== undefined) await this.#restoration.apply();
      this.#restoration = undefined;
      return true;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): false {
    const session = this.#session.scope.info.handle;
    this.#kernel.log.error("a plugin could not open a session", { session, error });
    return false;
  }

  /** Keeps a message until the plugins are open. Returns an error if it cannot be kept. */
  hold(decoded: Decoded, bytesIn: number): A2EError | undefined {
    const held = this.#held ?? [];
    const { message } = decoded;
    if (held.length >= this.#kernel.limits.maxQueuedCalls)
      return new A2EError("rate_limited", "the session is still opening", { detail: { retry_after_ms: 100 } });
    try {
      // The message still belongs to its sender, which may change it meanwhile.
      held.push({ decoded: message === undefined ? decoded : { ...decoded, message: copyJson(message) }, bytesIn });
      return undefined;
    } catch (cause) {
      return new A2EError("schema_violation", `no JSON form: ${(cause as Error).message}`);
    }
  }

  /** Removes and returns the held messages. Later messages are still held. */
  takeHeld(): readonly HeldMessage[] {
    return this.#held?.splice(0) ?? [];
  }

  /** The plugins are open, or one of them has failed: returns the held messages and holds no more. */
  stopHolding(): readonly HeldMessage[] {
    const held = this.takeHeld();
    this.#held = undefined;
    return held;
  }

  /** Holds messages again that could not be handled in this turn. Later messages are queued behind them. */
  holdAgain(messages: HeldMessage[]): void {
    this.#held = messages;
  }
}
