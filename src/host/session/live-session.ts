// One live session: creates its components, receives messages, and closes.

import { DrainTime } from "../../machinery/pacing/drain-time.ts";
import { HandshakeAllowance } from "../../machinery/pacing/handshake-allowance.ts";
import { SessionIntake } from "../../machinery/pacing/session-intake.ts";
import type { SessionInfo } from "../../plugin/call-context.ts";
import { shortId } from "../../plugin/logger.ts";
import type { SessionPart } from "../../plugin/plugin.ts";
import { anonymous, type Principal } from "../../plugin/principal.ts";
import { createMessage, type Decoded, decodeLine, decodeValue, tooLong } from "../../protocol/codec.ts";
import { core, gap, handshake, ping, shutdownReport } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { Capability, RequestOf } from "../../protocol/table/capability.ts";
import { AgentLink } from "../agent/agent-link.ts";
import { auditAfterCommit } from "../calls/audit-after-commit.ts";
import { CallAudit } from "../calls/call-audit.ts";
import { CallRunner } from "../calls/call-runner.ts";
import { Gate } from "../calls/gate.ts";
import { MessageRouter } from "../calls/message-router.ts";
import type { Kernel } from "../kernel.ts";
import type { OutboundLine, Reader } from "../outbound/outbound-log.ts";
import { type DirectEnd, Outbox } from "../outbound/outbox.ts";
import { noAudit } from "../ports/audit.ts";
import type { SessionJournal, SessionOrigin } from "../ports/journal.ts";
import type { KeptEntry, KeptSession } from "../ports/session-keeping.ts";
import type { SavedSession } from "../ports/snapshot-store.ts";
import type { Session, SessionSummary } from "../session.ts";
import { SessionCore } from "./session-core.ts";
import { SessionLife, type SessionStatus } from "./session-life.ts";
import { type HandshakeAnswer, type Restoration, SessionOpening } from "./session-opening.ts";
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
  /** The session has ended. */
  forget(session: Session): void;
}

interface SessionOptions extends SessionBeginning {
  readonly holder: SessionHolder;
  readonly tap: SessionTap | undefined;
}

/** A session from the side of its manager. */
export interface HeldSession {
  readonly session: Session;
  readonly inside: KeptSession;
  readonly kept: KeptEntry;
  /** Why the session is to be closed now, because of its age or because it is not used; undefined if it is not. */
  expiry(now: number): string | undefined;
}

/** Its public members are those of `Session`: everything else is private, also to code that gets hold of the object. */
export class LiveSession implements Session {
  readonly id: string;
  readonly info: SessionInfo;
  readonly startSeq: number;
  bearerToken = "";
  readonly intake: SessionIntake;
  readonly #info: { -readonly [Field in keyof SessionInfo]-?: SessionInfo[Field] };
  readonly #scope: SessionScope;
  readonly #life: SessionLife;
  readonly #kernel: Kernel;
  readonly #holder: SessionHolder;
  readonly #journal: SessionJournal | undefined;
  readonly #calls: CallRunner;
  readonly #router: MessageRouter;
  readonly #outbox: Outbox;
  readonly #agent: AgentLink;
  readonly #parts: SessionParts;
  readonly #opening: SessionOpening;
  readonly #kept: KeptEntry;
  readonly #inside: KeptSession;
  readonly #createdAt: number;
  readonly #parent: string | undefined;
  /** The capabilities that the session had before this process. */
  readonly #hadGranted: readonly string[];
  /** The event to apply if the host stops: "end" if the agent cannot reconnect. */
  readonly #whenHostStops: "end" | "leave";
  /** Created when first needed: most sessions use it for the handshake only, or never. */
  #core: readonly SessionPart[] | undefined;
  #closeListeners: Set<() => void> | undefined;
  #lastActiveAt: number;
  #closing: Promise<void> | undefined;
  #drainTime: DrainTime | undefined;
  #allowance: HandshakeAllowance | undefined;

  static begin(id: string, kernel: Kernel, options: SessionOptions): HeldSession {
    const session = new LiveSession(id, kernel, options);
    return {
      session,
      inside: session.#inside,
      kept: session.#kept,
      expiry: (now) => session.#expiry(now),
    };
  }

  private constructor(id: string, kernel: Kernel, { holder, restoreFrom, origin, tap, isTransient }: SessionOptions) {
    this.id = id;
    this.#info = { id, principal: anonymous, granted: nothing };
    this.info = this.#info;
    this.startSeq = origin?.lastSeq ?? 0;
    this.#kernel = kernel;
    this.#holder = holder;
    this.#whenHostStops = isTransient === true ? "end" : "leave";
    this.#lastActiveAt = kernel.clock.now();
    this.#createdAt = origin?.record.createdAt ?? this.#lastActiveAt;
    this.#parent = origin?.record.parent;
    this.#hadGranted = origin?.record.granted ?? [];
    // A fork needs no handshake, even if none of the capabilities is left in the fork.
    const isContinued = this.#hadGranted.length > 0 || this.#parent !== undefined;
    this.#life = new SessionLife(isContinued ? "continued" : "new");
    const scope: SessionScope = { info: this.#info, sources: tap?.sources ?? kernel, tap, life: this.#life };
    this.#scope = scope;
    const readRecord = () => this.#readRecord();
    this.#journal = this.#openJournal(origin, readRecord);
    this.#outbox = this.#createOutbox();
    this.intake = new SessionIntake(kernel.intake, kernel.limits, this, this.#outbox);
    this.#agent = new AgentLink(kernel, scope, this.#outbox, origin?.record.dialect);
    const audit = new CallAudit(kernel, scope.info, this.#auditLog());
    this.#calls = this.#createRunner(audit);
    const shutdown = (timeoutMs: number) => this.#shutdown(timeoutMs);
    const routes = { calls: this.#calls, agent: this.#agent, outbox: this.#outbox, shutdown };
    this.#router = new MessageRouter(kernel, scope, routes, audit);
    this.#parts = this.#createParts(origin);
    this.#inside = { scope, parts: this.#parts, journal: this.#journal, readRecord };
    const isKnown = (origin !== undefined && kernel.journal !== undefined) || restoreFrom !== undefined;
    this.#kept = holder.keep(this.#inside, isKnown);
    const opening = { scope, parts: this.#parts, agent: this.#agent };
    this.#opening = new SessionOpening(kernel, opening, this.#restoration(restoreFrom));
    if (origin !== undefined) this.#enter({ kind: "begin" }, () => this.#begin(origin));
  }

  #openJournal(origin: SessionOrigin | undefined, readRecord: () => SessionRecord): SessionJournal | undefined {
    return this.#kernel.journal?.open(
      {
        id: this.id,
        readRecord,
        released: (lines) => this.#outbox.released(lines),
        lost: (error) => this.#drop(error),
      },
      origin,
    );
  }

  #createOutbox(): Outbox {
    const { limits, nextId, clock, log } = this.#kernel;
    const port = {
      createGap: (from: number, to: number) => createMessage(gap.type, nextId(), clock.now(), { from, to }),
      onDetached: () => {
        this.#lastActiveAt = clock.now();
      },
      onDeliveryFailed: (error: unknown) => log.error("a transport failed", { session: shortId(this.id), error }),
    };
    return new Outbox(port, limits, this.#journal?.lines, this.#scope.tap);
  }

  #createRunner(audit: CallAudit): CallRunner {
    const port = {
      gate: new Gate(this.#scope),
      outbox: this.#outbox,
      intake: this.intake,
      parts: {
        of: (capability: string) => this.#partsOf(capability),
        noteChange: (capability: string) => {
          if (capability !== core.name) this.#kept.changed();
        },
      },
    };
    return new CallRunner(this.#kernel, this.#scope, port, (call, endedAt, errorCode, answer) =>
      audit.ended(call, endedAt, errorCode, answer),
    );
  }

  #createParts(origin: SessionOrigin | undefined): SessionParts {
    const [journal, calls] = [this.#journal, this.#calls];
    const port = {
      scope: this.#scope,
      agent: this.#agent,
      onState: journal === undefined ? () => {} : journal.track.bind(journal),
      callInBackground: calls.startInBackground.bind(calls),
    };
    return new SessionParts(this.#kernel, port, origin?.states);
  }

  #auditLog() {
    const { audit } = this.#kernel;
    return this.#journal === undefined || audit === noAudit ? audit : auditAfterCommit(audit, this.#journal.lines);
  }

  #restoration(saved: SavedSession | undefined): Restoration | undefined {
    return saved && { principalId: saved.state.principal_id, apply: () => this.#kept.restore(saved) };
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
    void this.#open(record.principal, new Set(record.granted));
    // The answer that names a fork may be sent before the plugins of the fork are open.
    this.#journal?.touch();
  }

  #readRecord(): SessionRecord {
    const { principal, granted } = this.#info;
    return {
      principal: { ...principal },
      // The capabilities it had before count until its plugins are open, and if one of them fails to open.
      granted: granted.size === 0 ? this.#hadGranted : [...granted],
      dialect: this.#agent.dialect,
      createdAt: this.#createdAt,
      lastActiveAt: this.#lastActiveAt,
      ...(this.#parent === undefined ? undefined : { parent: this.#parent }),
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
      session_id: this.id,
      agent_id: this.#info.principal.id,
      status: this.status,
      capabilities: [...this.#info.granted],
      created_at: this.#createdAt / 1000,
      last_active_at: this.#lastActiveAt / 1000,
      calls_in_flight: this.#calls.pendingCount,
      readers: this.#outbox.readerCount,
    };
  }

  #expiry(now: number): string | undefined {
    const { limits } = this.#kernel;
    if (this.status === "closing" || this.status === "closed") return undefined;
    if (now - this.#createdAt >= limits.sessionMaxAgeMs) return "maximum age reached";
    if (this.#life.state === "new" && now - this.#createdAt >= limits.handshakeTimeoutMs) return "no handshake";
    const isIdle = this.#outbox.readerCount === 0 && !this.#calls.isBusy;
    return isIdle && now - this.#lastActiveAt >= limits.sessionIdleMs ? "idle" : undefined;
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
    const { tap, sources } = this.#scope;
    // A tap sees text, so the session handles the text as well.
    const line = tap === undefined ? undefined : toLine(message);
    if (line !== undefined) return this.receiveLine(line);
    this.#enter({ kind: "line", line }, () => {
      if (this.#isAllowed(0)) this.#receive(decodeValue(message, this.#kernel.limits, sources.nextId), 0);
    });
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
    const now = this.#scope.sources.clock.now();
    this.#lastActiveAt = now;
    this.#kernel.intake.note(now);
    const { message } = decoded;
    if (status === "new" && !this.#kernel.isHandshakeRequired && message?.type !== handshake.type)
      this.#openWithoutHandshake();
    // A question of a plugin that is opening must be answered at once, or the plugin would wait for itself.
    const isHeld = this.#opening.isHolding && message?.type !== ping.type && this.status !== "closing";
    if (!isHeld || (message !== undefined && this.#agent.isAnswer(message)))
      return this.#router.route(decoded, bytesIn, now);
    const problem = this.#opening.hold(decoded, bytesIn);
    if (problem !== undefined) this.#answerWithError(problem, decoded, bytesIn);
  }

  #answerWithError(error: A2EError, { message, req_id }: Decoded, bytesIn: number): void {
    const now = this.#scope.sources.clock.now();
    this.#router.answerWithError(error, message?.type ?? "", req_id, bytesIn, now);
  }

  #shakeHands(
    request: RequestOf<typeof handshake>,
    message: Message | undefined,
  ): HandshakeAnswer | Promise<HandshakeAnswer> {
    const admitted = this.#opening.admit(request, message, this.bearerToken);
    if (typeof admitted === "string") return this.#reject(admitted);
    const { principal, granted, accepted_caps } = admitted;
    const opened = this.#open(principal, granted);
    const answer = (isOpen: boolean) => (isOpen ? this.#opening.accepted(accepted_caps) : this.#reject("server_error"));
    return typeof opened === "boolean" ? answer(opened) : opened.then(answer);
  }

  #reject(reason: string): HandshakeAnswer {
    const { answer, isLast } = this.#opening.rejected(reason);
    if (isLast) setImmediate(() => void this.close(reason));
    return answer;
  }

  #openWithoutHandshake(): void {
    if (this.#opening.isHolding) return;
    const admitted = this.#opening.admitWithoutHandshake(this.bearerToken);
    if (admitted !== undefined) void this.#open(admitted.principal, admitted.granted);
  }

  /** Opens the plugins' parts, at once if they allow it. False if one of them fails. */
  #open(principal: Principal, capabilities: ReadonlySet<string>): boolean | Promise<boolean> {
    this.#info.principal = principal;
    const opened = this.#opening.open(principal.id, capabilities);
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
    const isOver = this.#kernel.intake.slice();
    for (const [index, { decoded, bytesIn }] of held.entries()) {
      this.#receive(decoded, bytesIn);
      if (!isOver() || this.#opening.isHolding || index === held.length - 1) continue;
      this.#opening.holdAgain(held.slice(index + 1));
      return void setImmediate(() => this.#receiveHeld());
    }
  }

  #partsOf(capability: Capability["name"]): readonly SessionPart[] {
    if (capability !== core.name) return this.#parts.of(capability);
    this.#core ??= [{ handlers: this.#createCore() as unknown as SessionPart["handlers"] }];
    return this.#core;
  }

  #createCore(): SessionCore {
    return new SessionCore({
      sources: this.#scope.sources,
      shakeHands: (request, message) => this.#shakeHands(request, message),
      cancel: (callId, reason) => this.cancel(callId, reason),
      kept: this.#kept.calls,
    });
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

  saveSnapshot(label?: string) {
    return this.#kept.calls.saveSnapshot(label);
  }

  restoreSnapshot(snapshotId?: string) {
    return this.#kept.calls.restoreSnapshot(snapshotId);
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
    if (this.#closing === undefined) this.#closing = this.#close(reason, drainMs);
    else this.#drainTime?.shorten(drainMs);
    return this.#closing;
  }

  async #close(reason: string, drainMs: number): Promise<void> {
    this.#life.apply(this.#kernel.isStopping ? this.#whenHostStops : "end");
    const isLasting = this.#journal !== undefined && this.#life.state === "leaving";
    const ended = new A2EError("cancelled", `session ended: ${reason}`);
    for (const { decoded, bytesIn } of this.#opening.takeHeld())
      this.#answerWithError(decoded.error ?? ended, decoded, bytesIn);
    this.intake.flush();
    // The report names the interrupted calls, so their ids are collected before `#stopCalls` cancels them.
    const cutOff = drainMs > 0 || isLasting ? await this.#drain(drainMs, isLasting) : this.#calls.pendingIds;
    this.#stopCalls(ended.message);
    // A session that the next host recovers has not ended for its agent, so it gets no report.
    if (!isLasting) this.#sendReport(reason, cutOff);
    await this.#committed();
    if (this.#life.state === "dropped") return this.#parts.close(false);
    if (this.#life.state === "leaving") await this.#kept.closing.leave();
    this.#life.apply("finish");
    if (this.#life.state === "gone") return this.#closeForGood();
    await this.#parts.close(false);
    this.#end();
  }

  async #closeForGood(): Promise<void> {
    const { closing } = this.#kept;
    const isRestorable = closing.isRestorable();
    await this.#parts.close(!(typeof isRestorable === "boolean" ? isRestorable : await isRestorable));
    this.#forgetJournalled();
    this.#end();
    await closing.forget();
  }

  #stopCalls(reason: string): void {
    this.#calls.cancelAll(reason);
    this.#agent.end(reason);
  }

  #sendReport(reason: string, cut_off: string[]): void {
    const { nextId, clock } = this.#scope.sources;
    this.#outbox.send(createMessage(shutdownReport.type, nextId(), clock.now(), { reason, cut_off }));
  }

  /** Lets calls in flight finish, or leaves them to the next host. Resolves with the ids of all other calls. */
  async #drain(drainMs: number, isLasting: boolean): Promise<string[]> {
    const time = new DrainTime(drainMs);
    this.#drainTime = time;
    const leaving = isLasting ? this.#parts.leave(time.signal, (ids) => this.#calls.leave(ids)) : undefined;
    const cutOff = await this.#calls.drain(time.signal);
    await leaving;
    time.clear();
    return cutOff;
  }

  /**
   * The journal could not write a turn: the session in memory is ahead of it, so it is closed here and may be
   * recovered.
   */
  #drop(error: Error): void {
    if (!this.#life.apply("drop")) return;
    // Logged without a stack: many sessions may be dropped at once, all with the same stack.
    const { message: reason } = error;
    this.#kernel.log.error("a session could not be written and is dropped", { session: shortId(this.id), reason });
    this.#stopCalls("the host could not save this session");
    // Closing it later must not remove it from the journal.
    this.#closing ??= this.#parts.close(false);
    this.#end();
  }

  /** A journal that fails must not prevent a session from closing. Its entry is removed later, at `sessionMaxAgeMs`. */
  #forgetJournalled(): void {
    try {
      this.#journal?.forget();
    } catch (error) {
      this.#kernel.log.error("an ended session could not be removed", { session: shortId(this.id), error });
    }
  }

  /** Waits until all outgoing lines are sent, which happens once they are durable, or lost. */
  async #committed(): Promise<void> {
    const journal = this.#journal;
    if (journal !== undefined) await new Promise<void>((resolve) => journal.lines.committed(() => resolve()));
  }

  #end(): void {
    for (const listener of [...(this.#closeListeners ?? [])]) listener();
    this.#closeListeners = undefined;
    this.intake.close();
    this.#outbox.close();
    this.#scope.tap?.close();
    this.#holder.forget(this);
  }
}

const nothing: ReadonlySet<string> = new Set();

/** Undefined for a message without a JSON form. */
function toLine(message: unknown): string | undefined {
  try {
    return JSON.stringify(message);
  } catch {
    return undefined;
  }
}
