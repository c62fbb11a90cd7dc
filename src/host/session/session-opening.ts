// How a session comes to be open: who is let in, with which capabilities, and what waits until its plugins are ready.

import type { SavedSession } from "../../durability/snapshots/session-snapshots.ts";
import type { RequestOf, ResultInputOf } from "../../protocol/capability.ts";
import type { Decoded } from "../../protocol/codec.ts";
import type { handshake } from "../../protocol/core.ts";
import { type Dialect, detectDialect } from "../../protocol/dialects.ts";
import { isCompatibleVersion, type Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import { copyJson } from "../../protocol/json.ts";
import type { SessionInfo } from "../call-context.ts";
import type { Kernel } from "../kernel.ts";
import { shortId } from "../logger.ts";
import type { Principal } from "../principal.ts";
import { negotiate } from "./handshake.ts";
import type { SessionParts } from "./session-parts.ts";

export type HandshakeAnswer = ResultInputOf<typeof handshake>;

/** What opening needs of its session. */
export interface OpeningPort {
  readonly id: string;
  readonly info: SessionInfo;
  /** Its agent has shaken hands, here or in an earlier life of the session. */
  readonly hasOwner: boolean;
  readonly bearerToken: string;
  readonly parts: SessionParts;
  dialect: Dialect;
  /** Somebody was let in; what they were granted follows once it is there. */
  belongTo(principal: Principal): void;
  grant(capabilities: ReadonlySet<string>): void;
  restoreFrom(saved: SavedSession): Promise<unknown>;
  accept(decoded: Decoded, bytesIn: number): void;
  refuseDecoded(error: A2EError, decoded: Decoded, bytesIn: number): void;
  close(reason: string): Promise<void>;
}

interface Waiting {
  decoded: Decoded;
  bytesIn: number;
}

export class SessionOpening {
  readonly #kernel: Kernel;
  readonly #session: OpeningPort;
  #restoreFrom: SavedSession | undefined;
  #failedHandshakes = 0;
  /** Whom parts were opened for, though not all of them could be: what they hold is that agent's. */
  #triedFor: string | undefined;
  /** Messages that came while plugins were still opening. */
  #backlog: Waiting[] | undefined;
  /** The handshake as it came: its version fields tell the dialect, and the table has no place for them. */
  handshakeMessage: Message | undefined;

  constructor(kernel: Kernel, session: OpeningPort, restoreFrom: SavedSession | undefined) {
    this.#kernel = kernel;
    this.#session = session;
    this.#restoreFrom = restoreFrom;
  }

  /** True while plugins are opening and messages wait for them. */
  get isHolding(): boolean {
    return this.#backlog !== undefined;
  }

  shakeHands(request: RequestOf<typeof handshake>): HandshakeAnswer | Promise<HandshakeAnswer> {
    const message = this.handshakeMessage;
    this.handshakeMessage = undefined;
    const session = this.#session;
    const { limits, handlersOf } = this.#kernel;
    // Closing comes a turn later, and many guesses may have come in this one.
    if (this.#failedHandshakes >= limits.maxHandshakeAttempts) return this.#reject("auth_failed");
    if (message !== undefined && !isCompatibleVersion(message.version ?? message.a2e))
      return this.#reject("version_mismatch");
    const token = request.auth_token === "" ? session.bearerToken : request.auth_token;
    const principal = this.#authenticate(request.agent_id, token);
    if (typeof principal === "string") return this.#reject(principal);
    if (message !== undefined) session.dialect = detectDialect(message);
    const { granted, accepted_caps, isFruitless } = negotiate(request.agent_caps, session.dialect, handlersOf);
    if (isFruitless) return this.#reject("no_caps");
    const opening = this.open(principal, granted);
    const answer = (isOpen: boolean) => (isOpen ? this.#answer(true, "", accepted_caps) : this.#reject("server_error"));
    return typeof opening === "boolean" ? answer(opening) : opening.then(answer);
  }

  #authenticate(agent_id: string, token: string): Principal | "auth_failed" | "server_error" {
    const { info, hasOwner, id } = this.#session;
    let principal: Principal | undefined;
    try {
      principal = this.#kernel.authenticate({ agent_id, token });
    } catch (error) {
      this.#kernel.log.error("authenticate() threw", { session: shortId(id), error });
      return "server_error";
    }
    if (principal === undefined) return "auth_failed";
    // A session belongs to whom it was opened for: its id alone must not hand it to another agent.
    const owner = hasOwner ? info.principal.id : (this.#triedFor ?? this.#restoreFrom?.state.principal_id);
    return owner === undefined || owner === principal.id ? principal : "auth_failed";
  }

  #reject(reason: string): HandshakeAnswer {
    this.#failedHandshakes += 1;
    if (this.#failedHandshakes >= this.#kernel.limits.maxHandshakeAttempts)
      setImmediate(() => void this.#session.close(reason));
    return this.#answer(false, reason, []);
  }

  #answer(ok: boolean, reason: string, accepted_caps: HandshakeAnswer["accepted_caps"]): HandshakeAnswer {
    const { maxParallelCalls: max_parallel } = this.#kernel.limits;
    // Spelled out: each field behind a spread costs most of a microsecond in Node 20.
    return { ok, reason, accepted_caps, session_id: this.#session.id, max_parallel };
  }

  /** With `handshake.required: false` an agent that just starts talking gets everything the host has, if it may come in. */
  openWithoutHandshake(): void {
    if (this.isHolding) return;
    const { info, bearerToken } = this.#session;
    const principal = this.#authenticate(info.principal.id, bearerToken);
    if (typeof principal !== "string") void this.open(principal, new Set(this.#kernel.handlersOf.keys()));
  }

  /** Opens the plugins' parts, at once where they allow it; messages that come meanwhile wait. False where one fails. */
  open(principal: Principal, capabilities: ReadonlySet<string>): boolean | Promise<boolean> {
    this.#session.belongTo(principal);
    this.#triedFor = principal.id;
    try {
      const opening = this.#session.parts.open(capabilities);
      if (opening !== undefined || this.#restoreFrom !== undefined) return this.#openLater(opening, capabilities);
      this.#session.grant(capabilities);
      return true;
    } catch (error) {
      return this.#failed(error);
    }
  }

  async #openLater(opening: Promise<unknown> | undefined, capabilities: ReadonlySet<string>): Promise<boolean> {
    this.#backlog ??= [];
    try {
      await opening;
      if (this.#restoreFrom !== undefined) await this.#session.restoreFrom(this.#restoreFrom);
      this.#restoreFrom = undefined;
      this.#session.grant(capabilities);
      return true;
    } catch (error) {
      return this.#failed(error);
    } finally {
      setImmediate(() => this.#releaseBacklog());
    }
  }

  #failed(error: unknown): false {
    this.#kernel.log.error("a plugin could not open a session", { session: shortId(this.#session.id), error });
    return false;
  }

  holdBack(decoded: Decoded, bytesIn: number): void {
    const backlog = this.#backlog ?? [];
    const { message } = decoded;
    if (backlog.length >= this.#kernel.limits.maxQueuedCalls) {
      const busy = new A2EError("rate_limited", "the session is still opening", { detail: { retry_after_ms: 100 } });
      return this.#session.refuseDecoded(busy, decoded, bytesIn);
    }
    try {
      // The message may still be its sender's, who is free to change it meanwhile.
      backlog.push({ decoded: message === undefined ? decoded : { ...decoded, message: copyJson(message) }, bytesIn });
    } catch (cause) {
      const unsayable = new A2EError("schema_violation", `no JSON form: ${(cause as Error).message}`);
      this.#session.refuseDecoded(unsayable, decoded, bytesIn);
    }
  }

  /** The session ends before its plugins were open: whoever waited for them is told. */
  refuseBacklog(error: A2EError): void {
    for (const { decoded, bytesIn } of this.#backlog?.splice(0) ?? [])
      this.#session.refuseDecoded(decoded.error ?? error, decoded, bytesIn);
  }

  /** Handles the messages that came while plugins were opening, in slices: later ones wait behind them meanwhile. */
  #releaseBacklog(): void {
    const waiting = this.#backlog ?? [];
    this.#backlog = undefined;
    const isOver = this.#kernel.intake.slice();
    for (const [index, { decoded, bytesIn }] of waiting.entries()) {
      this.#session.accept(decoded, bytesIn);
      if (!isOver() || this.isHolding || index === waiting.length - 1) continue;
      this.#backlog = waiting.slice(index + 1);
      return void setImmediate(() => this.#releaseBacklog());
    }
  }
}
