// One live session: creates its components, receives messages, and closes.

import { HandshakeAllowance } from "../../machinery/pacing/handshake-allowance.ts";
import { SessionIntake } from "../../machinery/pacing/session-intake.ts";
import { PluginStates } from "../../machinery/state/plugin-states.ts";
import type { SessionInfo } from "../../plugin/call-context.ts";
import type { SessionPart } from "../../plugin/plugin.ts";
import { ownerOf, type Principal, toPrincipal } from "../../plugin/principal.ts";
import { type Awaitable, andThen, isThenable } from "../../protocol/awaitable.ts";
import { type Decoded, decodeLine, decodeValue, tooLong } from "../../protocol/codec.ts";
import { handshake, ping, restore, snapshot } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { RequestOf } from "../../protocol/table/capability.ts";
import { compileRights } from "../../rights/rights.ts";
import { AgentLink } from "../agent/agent-link.ts";
import type { ClientCertificate, PeerCredentials } from "../authentication.ts";
import { CallAudit } from "../calls/call-audit.ts";
import { CallRunner } from "../calls/call-runner.ts";
import { MessageRouter } from "../calls/message-router.ts";
import type { Kernel } from "../kernel.ts";
import type { OutboundLine, Reader } from "../outbound/outbound-log.ts";
import { type DirectEnd, Outbox } from "../outbound/outbox.ts";
import type { SessionJournal, SessionOrigin } from "../ports/journal.ts";
import type { KeptEntry, KeptSession } from "../ports/session-keeping.ts";
import type { SavedSession } from "../ports/snapshot-store.ts";
import type { Session, SessionSummary } from "../session.ts";
import { LiveInfo } from "./live-info.ts";
import { type RestoreResult, SessionCore, type SnapshotResult } from "./session-core.ts";
import { SessionEnding } from "./session-ending.ts";
import { SessionLife, type SessionStatus } from "./session-life.ts";
import { type Admitted, type HandshakeAnswer, type Restoration, SessionOpening } from "./session-opening.ts";
import type { SessionBeginning } from "./session-origin.ts";
import { SessionParts } from "./session-parts.ts";
import type { SessionRecord } from "./session-record.ts";
import type { SessionScope } from "./session-scope.ts";
import { type StreamOptions, streamSession } from "./session-stream.ts";
import type { SessionTap, TapCause } from "./session-tap.ts";

/** The manager, from the side of a session. */
export interface SessionHolder {
  keep(session: KeptSession, isKnown: boolean): KeptEntry;
  /** The session named by an id, for an answer to `fork`. */
  get(sessionId: string): Session | undefined;
  /** An agent opens the session. False if the host has no room for it. */
  admit(session: Session): boolean;
  /** The session has ended. */
  forget(session: Session): void;
}

interface SessionOptions {
  readonly beginning: SessionBeginning;
  readonly holder: SessionHolder;
  readonly tap: SessionTap | undefined;
}

/** A session from the side of its manager. */
export interface HeldSession {
  readonly session: Session;
  readonly inside: KeptSession;
  readonly kept: KeptEntry;
}

/** Its public members are those of `Session`: everything else is private, also to code that gets hold of the object. */
export class LiveSession implements Session {
  readonly id: string;
  readonly info: SessionInfo;
  readonly startSeq: number;
  bearerToken = "";
  readonly intake: SessionIntake;
  readonly #info: LiveInfo;
  readonly #scope: SessionScope;
  readonly #life: SessionLife;
  readonly #kernel: Kernel;
  readonly #holder: SessionHolder;
  readonly #journal: SessionJournal | undefined;
  readonly #audit: CallAudit;
  readonly #calls: CallRunner;
  readonly #router: MessageRouter;
  readonly #outbox: Outbox;
  readonly #agent: AgentLink;
  readonly #parts: SessionParts;
  readonly #opening: SessionOpening;
  readonly #kept: KeptEntry;
  readonly #inside: KeptSession;
  /** The record with which the session began; undefined for a new session. */
  readonly #origin: SessionRecord | undefined;
  readonly #createdAt: number;
  readonly #isTransient: boolean;
  readonly #certificate: ClientCertificate | undefined;
  #closeListeners: Set<() => void> | undefined;
  /** Created when first needed. */
  #ending: SessionEnding | undefined;
  #allowance: HandshakeAllowance | undefined;

  static begin(id: string, kernel: Kernel, options: SessionOptions): HeldSession {
    const session = new LiveSession(id, kernel, options);
    return {
      session,
      inside: session.#inside,
      kept: session.#kept,
    };
  }

  private constructor(id: string, kernel: Kernel, { holder, beginning, tap }: SessionOptions) {
    const { restoreFrom, origin } = beginning;
    this.id = id;
    this.#kernel = kernel;
    this.#holder = holder;
    this.#isTransient = beginning.isTransient === true;
    this.#certificate = beginning.certificate;
    this.startSeq = origin?.lastSeq ?? 0;
    const record = origin?.record;
    const now = kernel.clock.now();
    this.#origin = record;
    this.#createdAt = record?.createdAt ?? now;
    this.#info = new LiveInfo(id, kernel.handleOf);
    this.info = this.#info;
    // A fork needs no handshake, even if none of the capabilities is left in the fork.
    const isContinued = record !== undefined && (record.granted.length > 0 || record.parent !== undefined);
    this.#life = new SessionLife(isContinued ? "continued" : "new");
    const sources = tap?.sources ?? kernel;
    const scope: SessionScope = { info: this.#info, sources, tap, life: this.#life, lastActiveAt: now };
    this.#scope = scope;
    const readRecord = () => this.#readRecord();
    this.#journal = this.#openJournal(origin, readRecord);
    const [journal, lines] = [this.#journal, this.#journal?.lines];
    const outbox = new Outbox(kernel, scope, lines);
    this.#outbox = outbox;
    this.intake = new SessionIntake(kernel.intake, kernel.limits, this, outbox);
    this.#agent = new AgentLink(kernel, scope, outbox, record?.dialect);
    const states = new PluginStates(journal, origin?.states);
    const parts = new SessionParts(kernel, scope, this.#agent, states, () => this.#createCore());
    this.#parts = parts;
    this.#inside = { scope, parts, journal, readRecord };
    const isKnown = (origin !== undefined && kernel.journal !== undefined) || restoreFrom !== undefined;
    this.#kept = holder.keep(this.#inside, isKnown);
    const audit = new CallAudit(kernel, scope.info, lines);
    this.#audit = audit;
    this.#calls = new CallRunner(kernel, scope, { outbox, intake: this.intake, parts, kept: this.#kept }, audit);
    parts.calls = this.#calls;
    const shutdown = (timeoutMs: number) => this.#shutdown(timeoutMs);
    this.#router = new MessageRouter(
      kernel,
      scope,
      { calls: this.#calls, agent: this.#agent, outbox, shutdown },
      audit,
    );
    this.#opening = new SessionOpening(kernel, parts, this.#restoration(restoreFrom));
    if (origin !== undefined) this.#enter({ kind: "begin" }, () => this.#begin(origin));
  }

  #openJournal(origin: SessionOrigin | undefined, readRecord: () => SessionRecord): SessionJournal | undefined {
    return this.#kernel.journal?.open(
      {
        id: this.id,
        readRecord,
        released: (lines) => this.#outbox.released(lines),
        lost: (error) => this.#end.drop(error),
      },
      origin,
    );
  }

  #restoration(saved: SavedSession | undefined): Restoration | undefined {
    return saved && { owner: saved.state.principal_id, apply: () => this.#kept.restore(saved) };
  }

  /** The session was recovered or forked. */
  #begin({ record, lines, lastSeq, acknowledged }: SessionOrigin): void {
    // A fork on a host without a journal has no lines, and its numbers begin when it is read.
    if (lastSeq > 0 || this.#journal !== undefined) {
      const unread = lines.slice(Math.max(0, lines.length - (lastSeq - acknowledged)));
      this.#outbox.recover(unread, lastSeq);
      this.#calls.recover(lines);
    }
    if (this.#life.state !== "continued") return;
    const principal = toPrincipal(record.principal);
    if (this.#authorize(principal) !== undefined) this.#info.rights = noRights;
    void this.#open(principal, new Set(record.granted));
    // The answer that names a fork may be sent before the plugins of the fork are open.
    this.#journal?.touch();
  }

  #readRecord(): SessionRecord {
    const { principal, granted } = this.#info;
    return {
      principal: { ...principal },
      // The capabilities it had before count until its plugins are open, and if one of them fails to open.
      granted: granted.size === 0 ? (this.#origin?.granted ?? []) : [...granted],
      dialect: this.#agent.dialect,
      createdAt: this.#createdAt,
      lastActiveAt: this.#scope.lastActiveAt,
      ...(this.#origin?.parent === undefined ? undefined : { parent: this.#origin.parent }),
    };
  }

  get status(): SessionStatus {
    return this.#life.status;
  }

  get pendingCalls(): number {
    return this.#calls.pendingCount;
  }

  get readerCount(): number {
    return this.#outbox.readerCount;
  }

  get lastSeq(): number {
    return this.#outbox.lastSeq;
  }

  get unsentBytes(): number {
    return this.#outbox.unsentBytes;
  }

  summary(): SessionSummary {
    return {
      handle: this.#info.handle,
      principal: this.#info.principal.id,
      agent_id: this.#info.principal.agentId,
      status: this.status,
      capabilities: [...this.#info.granted],
      created_at: this.#createdAt / 1000,
      last_active_at: this.#scope.lastActiveAt / 1000,
      calls_in_flight: this.#calls.pendingCount,
      readers: this.#outbox.readerCount,
    };
  }

  /** Why a session is to be closed now, because of its age or because it is not used; undefined if it is not. */
  static expiryOf(session: Session, now: number): string | undefined {
    return session instanceof LiveSession ? session.#expiry(now) : undefined;
  }

  #expiry(now: number): string | undefined {
    const { limits } = this.#kernel;
    if (this.status === "closing" || this.status === "closed") return undefined;
    if (now - this.#createdAt >= limits.sessionMaxAgeMs) return "maximum age reached";
    if (this.#life.state === "new" && now - this.#createdAt >= limits.handshakeTimeoutMs) return "no handshake";
    const isIdle = this.#outbox.readerCount === 0 && !this.#calls.isBusy;
    return isIdle && now - this.#scope.lastActiveAt >= limits.sessionIdleMs ? "idle" : undefined;
  }

  receiveLine(line: string): void {
    const { tap } = this.#scope;
    if (tap === undefined) this.#decodeLine(line);
    else tap.enter({ kind: "line", line }, () => this.#decodeLine(line));
  }

  #decodeLine(line: string): void {
    if (!this.#isAllowed(line.length)) return;
    this.#receive(decodeLine(line, this.#kernel.limits, this.#scope.sources.nextId), Buffer.byteLength(line));
  }

  receiveMessage(message: unknown): void {
    const { tap } = this.#scope;
    if (tap === undefined) return this.#decodeValue(message);
    // A tap sees text, so the session handles the text as well.
    const line = toLine(message);
    if (line !== undefined) this.receiveLine(line);
    else tap.enter({ kind: "line", line }, () => this.#decodeValue(message));
  }

  #decodeValue(message: unknown): void {
    const { nextId } = this.#scope.sources;
    if (this.#isAllowed(0)) this.#receive(decodeValue(message, this.#kernel.limits, nextId), 0);
  }

  receiveTooLong(): void {
    this.#enter({ kind: "line", line: null }, () => {
      if (this.#isAllowed(0)) this.#receive(tooLong(this.#kernel.limits), 0);
    });
  }

  #enter(cause: TapCause, work: () => void): void {
    const { tap } = this.#scope;
    if (tap === undefined) work();
    else tap.enter(cause, work);
  }

  get awaitsHandshake(): boolean {
    return this.#life.state === "new" && !this.#opening.isHolding && this.#kernel.isHandshakeRequired;
  }

  /** False, and the session ends, if a peer sends more before its handshake than it may. */
  #isAllowed(length: number): boolean {
    if (this.#life.state !== "new" || this.#opening.isHolding) return true;
    // On a host without handshake, the first line opens the session, however long it is.
    const isOpening = this.#allowance === undefined && !this.#kernel.isHandshakeRequired;
    this.#allowance ??= new HandshakeAllowance(this.#kernel.limits);
    const excess = isOpening ? undefined : this.#allowance.take(length);
    if (excess === undefined) return true;
    this.intake.close();
    this.#router.answerWithError(excess, "", undefined, length, this.#scope.sources.clock.now());
    void this.close(excess.message);
    return false;
  }

  #receive(decoded: Decoded, bytesIn: number): void {
    const { status } = this.#life;
    if (status === "closed") return;
    const { message } = decoded;
    if (this.#mustHold(message)) return this.#hold(decoded, bytesIn);
    const now = this.#scope.sources.clock.now();
    this.#scope.lastActiveAt = now;
    this.#kernel.intake.note(now);
    if (status === "new" && !this.#kernel.isHandshakeRequired && message?.type !== handshake.type) {
      this.#openWithoutHandshake();
      if (this.#mustHold(message)) return this.#hold(decoded, bytesIn);
    }
    this.#router.route(decoded, bytesIn, now);
  }

  #mustHold(message: Message | undefined): boolean {
    if (!this.#opening.isHolding || message?.type === ping.type || this.status === "closing") return false;
    // A question of a plugin that is opening must be answered at once, or the plugin would wait for itself.
    return message === undefined || !this.#agent.isAnswer(message);
  }

  /** Reads no source of the tap: a replay may hold a message that came a moment too late to be held in the recording. */
  #hold(decoded: Decoded, bytesIn: number): void {
    this.#scope.lastActiveAt = this.#kernel.clock.now();
    this.#kernel.intake.noteNow();
    const problem = this.#opening.hold(decoded, bytesIn);
    if (problem !== undefined) this.#answerWithError(problem, decoded, bytesIn);
  }

  #answerWithError(error: A2EError, { message, req_id }: Decoded, bytesIn: number): void {
    const now = this.#scope.sources.clock.now();
    this.#router.answerWithError(error, message?.type ?? "", req_id, bytesIn, now);
  }

  #shakeHands(request: RequestOf<typeof handshake>): HandshakeAnswer | Promise<HandshakeAnswer> {
    return this.#decide(this.#opening.admit(request, this.#credentials), (admitted) =>
      this.#admit(admitted, request.audit_size),
    );
  }

  get #credentials(): PeerCredentials {
    const certificate = this.#certificate;
    return certificate === undefined ? { token: this.bearerToken } : { token: this.bearerToken, certificate };
  }

  /** Applies a decision of `SessionOpening`. If it took time, the messages that were held meanwhile are handled next. */
  #decide<Result>(
    admitted: Awaitable<Admitted | string>,
    apply: (admitted: Admitted | string) => Awaitable<Result>,
  ): Awaitable<Result> {
    if (!isThenable(admitted)) return apply(admitted);
    return admitted.then((decision) => {
      const applied = apply(this.status === "new" || this.status === "open" ? decision : "server_error");
      // Plugins that are still opening handle the held messages later.
      if (!isThenable(applied)) setImmediate(() => this.#receiveHeld());
      return applied;
    });
  }

  #admit(admitted: Admitted | string, auditSize: number | undefined): HandshakeAnswer | Promise<HandshakeAnswer> {
    if (typeof admitted === "string") return this.#reject(admitted);
    const { principal, granted, accepted_caps } = admitted;
    const refusal = this.#authorize(principal);
    if (refusal !== undefined) return this.#reject(refusal);
    const answer = (isOpen: boolean) =>
      isOpen ? this.#opening.accepted(accepted_caps, auditSize) : this.#reject("server_error");
    return andThen(this.#open(principal, granted), answer);
  }

  /** Gives the session the rights of the principal. Returns the reason if it may not have the session. */
  #authorize(principal: Principal): string | undefined {
    if (!this.#life.hasOwner && !this.#holder.admit(this)) return "host_full";
    try {
      this.#info.rights = this.#kernel.authorize(principal, this);
      return undefined;
    } catch (error) {
      if (error instanceof A2EError) return error.code;
      this.#kernel.log.error("authorize() threw", { session: this.#info.handle, error });
      return "server_error";
    }
  }

  #reject(reason: string): HandshakeAnswer {
    const { answer, isLast } = this.#opening.rejected(reason);
    if (isLast) setImmediate(() => void this.close(reason));
    return answer;
  }

  #openWithoutHandshake(): void {
    if (this.#opening.isHolding) return;
    void this.#decide(
      this.#opening.admitWithoutHandshake(this.#credentials),
      (admitted) =>
        typeof admitted !== "string" &&
        this.#authorize(admitted.principal) === undefined &&
        this.#open(admitted.principal, admitted.granted),
    );
  }

  /** Opens the plugins' parts, at once if they allow it. False if one of them fails. */
  #open(principal: Principal, capabilities: ReadonlySet<string>): boolean | Promise<boolean> {
    this.#info.principal = principal;
    const opened = this.#opening.open(ownerOf(principal), capabilities);
    if (typeof opened === "boolean") return this.#opened(opened, capabilities);
    return opened.then((isOpen) => {
      setImmediate(() => this.#receiveHeld());
      return this.#opened(isOpen, capabilities);
    });
  }

  #opened(isOpen: boolean, capabilities: ReadonlySet<string>): boolean {
    if (!isOpen) return false;
    const { granted } = this.#info;
    this.#info.granted = granted.size === 0 ? capabilities : new Set([...granted, ...capabilities]);
    this.#life.apply("admit");
    this.#allowance = undefined;
    this.#journal?.touch();
    this.#parts.tellOpened();
    return true;
  }

  /** Handles the messages that arrived while plugins were opening, in slices. Newer messages are queued behind them. */
  #receiveHeld(): void {
    const held = this.#opening.stopHolding();
    if (held.length > 0) this.#enter({ kind: "held" }, () => this.#handleHeld(held));
  }

  #handleHeld(held: ReturnType<SessionOpening["takeHeld"]>): void {
    const isOver = this.#kernel.intake.slice();
    for (const [index, { decoded, bytesIn }] of held.entries()) {
      this.#receive(decoded, bytesIn);
      if (!isOver() || this.#opening.isHolding || index === held.length - 1) continue;
      this.#opening.holdAgain(held.slice(index + 1));
      return void setImmediate(() => this.#receiveHeld());
    }
  }

  /** Most sessions use the core for the handshake only, or never. */
  #createCore(): SessionPart {
    const handlers = new SessionCore({
      sources: this.#scope.sources,
      shakeHands: (request) => this.#shakeHands(request),
      cancel: (callId, reason) => this.cancel(callId, reason),
      mintToken: (caveats) => {
        const { mintToken } = this.#kernel;
        if (mintToken !== undefined) return mintToken(this.#info.principal, caveats);
        throw new A2EError("runtime_error", "this host does not mint tokens", { retryable: false });
      },
      kept: this.#kept.calls,
    });
    return { handlers: handlers as unknown as SessionPart["handlers"] };
  }

  bindTransport(end: DirectEnd): () => void {
    this.#checkNotClosed();
    return this.#outbox.bind(end);
  }

  attach(from: number, wake: () => void): Reader {
    this.#checkNotClosed();
    return this.#outbox.attach(from, wake);
  }

  #checkNotClosed(): void {
    if (this.#life.isClosed) throw new Error("session is closed");
  }

  stream(options: StreamOptions = {}): AsyncGenerator<OutboundLine, void> {
    return streamSession(this, this.#kernel.limits.maxReaderBytes, options);
  }

  acknowledge(seq: number): void {
    this.#outbox.acknowledge(seq);
  }

  onClosed(listener: () => void): () => void {
    if (this.#life.isClosed) listener();
    else {
      this.#closeListeners ??= new Set();
      this.#closeListeners.add(listener);
    }
    return () => this.#closeListeners?.delete(listener);
  }

  cancel(callId: string, reason: string): boolean {
    return this.#calls.cancel(callId, reason);
  }

  /** For a principal with limited rights, saving and restoring are calls, which pass the gate. */
  get #isLimited(): boolean {
    const { principal, rights } = this.#info;
    return this.#life.isOpen && (!rights.isEverything || principal.expiresAt !== undefined);
  }

  saveSnapshot(label?: string): Promise<SnapshotResult> {
    if (!this.#isLimited) return this.#kept.calls.saveSnapshot(label);
    return this.#calls.startInBackground(snapshot, label === undefined ? {} : { label }) as Promise<SnapshotResult>;
  }

  restoreSnapshot(snapshotId?: string): Promise<RestoreResult> {
    if (!this.#isLimited) return this.#kept.calls.restoreSnapshot(snapshotId);
    const request = snapshotId === undefined ? {} : { snapshot_id: snapshotId };
    return this.#calls.startInBackground(restore, request) as Promise<RestoreResult>;
  }

  async fork() {
    const { sessionId, capabilities } = await this.#kept.calls.forking.fork();
    return { session: this.#holder.get(sessionId) as Session, capabilities };
  }

  /** The agent has asked for a shutdown: accepts no more calls and lets the calls in flight finish. */
  #shutdown(timeoutMs: number): void {
    void this.close("shutdown", Math.min(timeoutMs, this.#kernel.limits.maxCallTimeoutMs));
  }

  close(reason = "closed", drainMs = 0): Promise<void> {
    return this.#end.close(reason, drainMs);
  }

  get #end(): SessionEnding {
    this.#ending ??= new SessionEnding(
      this.#kernel,
      { journal: this.#journal, outbox: this.#outbox, parts: this.#parts, calls: this.#calls, kept: this.#kept },
      {
        audit: this.#audit,
        whenHostStops: this.#isTransient ? "end" : "leave",
        refuseWaiting: (error) => this.#refuseWaiting(error),
        ended: () => this.#ended(),
      },
    );
    return this.#ending;
  }

  #refuseWaiting(ended: A2EError): void {
    for (const { decoded, bytesIn } of this.#opening.takeHeld())
      this.#answerWithError(decoded.error ?? ended, decoded, bytesIn);
    this.intake.flush();
  }

  #ended(): void {
    for (const listener of [...(this.#closeListeners ?? [])]) listener();
    this.#closeListeners = undefined;
    this.intake.close();
    this.#outbox.close();
    this.#scope.tap?.close();
    this.#holder.forget(this);
  }
}

/** The rights of a principal that was refused when its session was recovered. */
const noRights = compileRights({}, []);

/** Undefined for a message without a JSON form. */
function toLine(message: unknown): string | undefined {
  try {
    return JSON.stringify(message);
  } catch {
    return undefined;
  }
}
