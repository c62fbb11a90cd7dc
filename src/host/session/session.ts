// One agent's place on the host: an executor, an outbound log, the plugins' state, a principal. Transports come and go.

import { type ForkHolder, type ForkingPort, forkSession, mergeFork } from "../../durability/forks/session-forking.ts";
import { type SavingPort, SessionSaving } from "../../durability/snapshots/session-saving.ts";
import type { SavedSession } from "../../durability/snapshots/session-snapshots.ts";
import type { Call, Capability, RequestOf, ResultInputOf } from "../../protocol/capability.ts";
import { CheckedAnswer } from "../../protocol/checked-answer.ts";
import { createMessage, type Decoded, decodeLine, decodeValue, encodeMessage, tooLong } from "../../protocol/codec.ts";
import { core, gap, handshake, type merge, ping, shutdownReport } from "../../protocol/core.ts";
import type { Dialect } from "../../protocol/dialects.ts";
import { inDocsSpelling } from "../../protocol/docs-spelling.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError, refusal } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { CallOptions, SessionInfo } from "../call-context.ts";
import type { RequestEntry } from "../calls/active-call.ts";
import { auditAfterCommit } from "../calls/audit-after-commit.ts";
import type { CallAuditLog } from "../calls/call-audit.ts";
import type { Answer } from "../calls/call-table.ts";
import { Executor, type ExecutorPort } from "../calls/executor.ts";
import { HandshakeAllowance } from "../intake/handshake-allowance.ts";
import { SessionIntake } from "../intake/session-intake.ts";
import type { Kernel } from "../kernel.ts";
import { shortId } from "../logger.ts";
import type { OutboundLine, Reader } from "../outbound/outbound-log.ts";
import { type DirectEnd, Outbox, type OutboxPort } from "../outbound/outbox.ts";
import type { AskOptions, Forking, SessionPart } from "../plugin.ts";
import { noAudit } from "../ports/audit.ts";
import type { SessionJournal, SessionOrigin } from "../ports/journal.ts";
import { anonymous, type Principal } from "../principal.ts";
import type { Sources } from "../sources.ts";
import { isThenable } from "../thenable.ts";
import { AgentAsks } from "./agent-asks.ts";
import { DrainTime } from "./drain-time.ts";
import type { LayeredState } from "./layered-state.ts";
import type { SessionPartsPort } from "./part-context.ts";
import { type CorePort, SessionCore } from "./session-core.ts";
import { type HandshakeAnswer, type OpeningPort, SessionOpening } from "./session-opening.ts";
import type { SessionBeginning } from "./session-origin.ts";
import { SessionParts } from "./session-parts.ts";
import type { SessionRecord } from "./session-record.ts";
import { type StreamOptions, streamSession } from "./session-stream.ts";
import type { SessionTap, TapCause } from "./session-tap.ts";

export type SessionStatus = "new" | "open" | "closing" | "closed";

export interface SessionSummary {
  session_id: string;
  agent_id: string;
  status: SessionStatus;
  capabilities: string[];
  created_at: number;
  last_active_at: number;
  calls_in_flight: number;
  readers: number;
}

/** Who holds a session, and its neighbours. */
export interface SessionHolder extends ForkHolder<Session> {
  /** A session is about to end: what is to be kept of it is saved now. */
  saveDraining(session: Session): Promise<void>;
  /** A session has ended. */
  forget(session: Session): void;
}

interface SessionOptions extends SessionBeginning {
  manager?: SessionHolder;
  tap?: SessionTap | undefined;
}

export class Session
  implements CorePort, ExecutorPort, ForkingPort, OpeningPort, OutboxPort, SavingPort, SessionPartsPort
{
  readonly id: string;
  readonly info: { -readonly [Field in keyof SessionInfo]-?: SessionInfo[Field] };
  readonly createdAt: number;
  readonly parent: string | undefined;
  readonly tap: SessionTap | undefined;
  readonly sources: Sources;
  /** The bearer token of the transport, for agents that do not put one into the handshake. */
  bearerToken = "";
  /** How its peer spells things. */
  dialect: Dialect = "full";
  /** The number of the last line that was said before this process had the session. */
  readonly startSeq: number;
  readonly parts: SessionParts;
  readonly saving: SessionSaving;
  /** Where transports hand in what the peer sends: it is handled in slices, and waits while answers are unread. */
  readonly intake: SessionIntake;
  readonly #kernel: Kernel;
  readonly #executor: Executor;
  readonly #outbox: Outbox;
  readonly #opening: SessionOpening;
  readonly #manager: SessionHolder | undefined;
  readonly #journal: SessionJournal | undefined;
  /** Made when first needed, as most sessions need them only for the handshake, or never. */
  #core: readonly SessionPart[] | undefined;
  #closeListeners: Set<() => void> | undefined;
  #asks: AgentAsks | undefined;
  #status: SessionStatus = "new";
  #allowance: HandshakeAllowance | undefined;
  /** Calls of one capability mostly follow each other, and what was granted once is never taken back. */
  #lastAdmitted: Capability | undefined;
  #lastActiveAt: number;
  #closing: Promise<void> | undefined;
  #drainTime: DrainTime | undefined;
  readonly #isTransient: boolean;
  /** Its agent has shaken hands before: the session is recovered, or a fork. */
  readonly #hadHandshake: boolean;
  /** What it was granted before. */
  readonly #hadGranted: readonly string[];
  /** Its end is for good: the host went on when it began, or nobody could come back to it. */
  #isOver = false;
  /** It could not be written, and is gone from here alone. */
  #isDropped = false;

  constructor(id: string, kernel: Kernel, options: SessionOptions = {}) {
    const { manager, restoreFrom, origin, tap, isTransient = false } = options;
    this.id = id;
    this.info = { id, principal: anonymous, granted: nothing };
    this.startSeq = origin?.lastSeq ?? 0;
    this.#kernel = kernel;
    this.tap = tap;
    this.sources = tap?.sources ?? kernel;
    this.#manager = manager;
    this.#isTransient = isTransient;
    // The agent of a fork has shaken hands, though none of the capabilities may be left in it.
    this.#hadGranted = origin?.record.granted ?? [];
    this.#hadHandshake = this.#hadGranted.length > 0 || origin?.record.parent !== undefined;
    this.#journal = this.#openJournal(origin);
    this.#executor = new Executor(kernel, this, this.#auditLog());
    this.#outbox = new Outbox(this, kernel.limits, this.#journal?.lines);
    this.intake = new SessionIntake(kernel.intake, kernel.limits, this, this.#outbox);
    this.parts = new SessionParts(kernel, this, origin?.states);
    this.#opening = new SessionOpening(kernel, this, restoreFrom);
    this.#lastActiveAt = kernel.clock.now();
    this.createdAt = origin?.record.createdAt ?? this.#lastActiveAt;
    this.parent = origin?.record.parent;
    const mayHaveSnapshots = (origin !== undefined && kernel.journal !== undefined) || restoreFrom !== undefined;
    this.saving = new SessionSaving(kernel, this, mayHaveSnapshots);
    if (origin !== undefined) this.#enter({ kind: "begin" }, () => this.#begin(origin));
  }

  /** Says what nobody asked for. */
  sendUnasked(message: Message): void {
    if (this.#status === "closed") return;
    this.sendAside(this.dialect === "docs" ? inDocsSpelling(message, this.#kernel.registry) : message);
  }

  ask(call: Call, request: unknown, options?: AskOptions): Promise<JsonObject> {
    return this.#agent.ask(call, request, options);
  }

  get #agent(): AgentAsks {
    this.#asks ??= new AgentAsks({
      session: this.info,
      limits: this.#kernel.limits,
      sources: this.sources,
      deadlines: this.#kernel.deadlines,
      send: (message) => this.sendUnasked(message),
    });
    return this.#asks;
  }

  callInBackground(call: Call | string, request: JsonObject, options?: CallOptions): Promise<JsonObject> {
    return this.#executor.calls.startInBackground(call, request, options);
  }

  onState(plugin: string, state: LayeredState): void {
    this.#journal?.track(plugin, state);
  }

  answerAsk(message: Message, asked: Call | undefined): A2EError | boolean {
    return this.#asks?.answer(message, asked) ?? false;
  }

  #openJournal(origin: SessionOrigin | undefined): SessionJournal | undefined {
    return this.#kernel.journal?.open(
      {
        id: this.id,
        readRecord: () => this.readRecord(),
        released: (lines) => this.#outbox.released(lines),
        lost: (error) => this.#drop(error),
      },
      origin,
    );
  }

  #auditLog(): CallAuditLog {
    const { audit } = this.#kernel;
    return this.#journal === undefined || audit === noAudit ? audit : auditAfterCommit(audit, this.#journal.lines);
  }

  readRecord(): SessionRecord {
    const { principal, granted } = this.info;
    return {
      principal: { ...principal },
      // What it had before counts until its plugins are open, and if one of them fails to open.
      granted: granted.size === 0 ? this.#hadGranted : [...granted],
      dialect: this.dialect,
      createdAt: this.createdAt,
      lastActiveAt: this.#lastActiveAt,
      ...(this.parent === undefined ? undefined : { parent: this.parent }),
    };
  }

  /** Goes on with what a recovered session or a fork begins with. */
  #begin({ record, lines, lastSeq, acknowledged }: SessionOrigin): void {
    const { principal, granted, dialect } = record;
    this.dialect = dialect;
    // A fork on a host without a journal has no lines, and its numbers begin when it is read.
    if (lastSeq > 0 || this.#journal !== undefined) {
      const unread = lines.slice(Math.max(0, lines.length - (lastSeq - acknowledged)));
      this.#outbox.recover(unread, lastSeq);
      this.#executor.calls.recover(lines);
    }
    if (!this.#hadHandshake) return;
    void this.#opening.open(principal, new Set(granted));
    // The answer that names a fork may be sent before the plugins of the fork are open.
    this.#journal?.touch();
  }

  /** A turn is lost: the session in memory is ahead of the one in the journal, so it is dropped and may be recovered. */
  #drop(error: Error): void {
    if (this.#status === "closed") return;
    // Without a stack: many sessions are dropped for one reason, and where it was noticed is the same for all.
    const { message: reason } = error;
    this.#kernel.log.error("a session could not be written and is dropped", { session: shortId(this.id), reason });
    this.#status = "closed";
    this.#isDropped = true;
    this.#executor.calls.cancelAll("the host could not save this session");
    this.#agent.end("the host could not save this session");
    // Closing it later must not take away what the journal still has of it.
    this.#closing ??= this.parts.close(false);
    this.#end();
  }

  createGap(from: number, to: number): Message {
    return createMessage(gap.type, this.#kernel.nextId(), this.#kernel.clock.now(), { from, to });
  }

  onDetached(): void {
    this.#lastActiveAt = this.#kernel.clock.now();
  }

  onDeliveryFailed(error: unknown): void {
    this.#kernel.log.error("a transport failed", { session: shortId(this.id), error });
  }

  get status(): SessionStatus {
    return this.#status;
  }

  get isGone(): boolean {
    return this.#status === "closed" && this.#isOver && !this.#isDropped;
  }

  get isOpen(): boolean {
    return this.#status === "open";
  }

  get hasOwner(): boolean {
    return this.#hadHandshake || this.#status === "open";
  }

  get lastActiveAt(): number {
    return this.#lastActiveAt;
  }

  get pendingCalls(): number {
    return this.#executor.calls.pendingCount;
  }

  /** Something is still being done in it, be it in the background. */
  get isBusy(): boolean {
    return this.#executor.calls.isBusy;
  }

  /** True while somebody listens: such a session is not idle, however silent it is. */
  get isAttached(): boolean {
    return this.#outbox.readerCount > 0;
  }

  /** How many streams read this session now. */
  get readerCount(): number {
    return this.#outbox.readerCount;
  }

  summary(): SessionSummary {
    return {
      session_id: this.id,
      agent_id: this.info.principal.id,
      status: this.#status,
      capabilities: [...this.info.granted],
      created_at: this.createdAt / 1000,
      last_active_at: this.#lastActiveAt / 1000,
      calls_in_flight: this.#executor.calls.pendingCount,
      readers: this.#outbox.readerCount,
    };
  }

  /** Handles one line from the peer at once; transports use `intake`. Never throws: whatever is wrong is answered. */
  receiveLine(line: string): void {
    if (this.tap === undefined) this.#takeLine(line);
    else this.tap.enter({ kind: "line", line }, () => this.#takeLine(line));
  }

  #takeLine(line: string): void {
    if (!this.#isAllowed(line.length)) return;
    this.accept(decodeLine(line, this.#kernel.limits, this.sources.nextId), Buffer.byteLength(line));
  }

  /** Takes a message that was never text. It stays the sender's: nothing of it is kept or written to. */
  receiveMessage(message: unknown): void {
    // A tap sees text, so it is also the text that is handled.
    const line = this.tap === undefined ? undefined : toLine(message);
    if (line !== undefined) return this.receiveLine(line);
    this.#enter({ kind: "line", line }, () => {
      if (this.#isAllowed(0)) this.accept(decodeValue(message, this.#kernel.limits, this.sources.nextId), 0);
    });
  }

  /** A line was longer than the limit and was skipped by the transport. */
  receiveTooLong(): void {
    this.#enter({ kind: "line", line: null }, () => {
      if (this.#isAllowed(0)) this.accept(tooLong(this.#kernel.limits), 0);
    });
  }

  #enter(cause: TapCause, work: () => void): void {
    if (this.tap === undefined) work();
    else this.tap.enter(cause, work);
  }

  /** True until the peer has shaken hands, be it in an earlier life of the session: it may send little. */
  get awaitsHandshake(): boolean {
    return this.#status === "new" && !this.hasOwner && !this.#opening.isHolding && this.#kernel.isHandshakeRequired;
  }

  /** False, and the session ends, if a peer sends more before its handshake than it may. */
  #isAllowed(length: number): boolean {
    if (this.#status !== "new" || this.hasOwner || this.#opening.isHolding) return true;
    // On a host without handshake, the first line opens the session, however long it is.
    const isOpening = this.#allowance === undefined && !this.#kernel.isHandshakeRequired;
    this.#allowance ??= new HandshakeAllowance(this.#kernel.limits);
    const excess = isOpening ? undefined : this.#allowance.take(length);
    if (excess === undefined) return true;
    this.intake.close();
    this.#executor.refuse(excess, "", undefined, length, this.sources.clock.now());
    void this.close(excess.message);
    return false;
  }

  accept(decoded: Decoded, bytesIn: number): void {
    if (this.#status === "closed") return;
    const now = this.sources.clock.now();
    const type = decoded.message?.type;
    this.#lastActiveAt = now;
    this.#kernel.intake.note(now);
    if (this.#status === "new" && !this.#kernel.isHandshakeRequired && type !== handshake.type)
      this.#opening.openWithoutHandshake();
    if (this.#opening.isHolding && type !== ping.type && this.#status !== "closing" && !this.#isAskAnswer(decoded))
      return this.#opening.holdBack(decoded, bytesIn);
    if (type === handshake.type) this.#opening.handshakeMessage = decoded.message;
    this.#executor.handle(decoded, bytesIn, now);
  }

  #isAskAnswer({ message }: Decoded): boolean {
    if (this.#asks === undefined || message === undefined) return false;
    const entry = this.#kernel.registry.get(message.type);
    const isSuch = entry?.kind === "ask" || entry?.kind === "error";
    return isSuch && this.#asks.isAnswer(message, entry.kind === "ask" ? entry.call : undefined);
  }

  refuseDecoded(error: A2EError, { message, req_id }: Decoded, bytesIn: number): void {
    this.#executor.refuse(error, message?.type ?? "", req_id, bytesIn, this.sources.clock.now());
  }

  shakeHands(request: RequestOf<typeof handshake>): HandshakeAnswer | Promise<HandshakeAnswer> {
    return this.#opening.shakeHands(request);
  }

  belongTo(principal: Principal): void {
    this.info.principal = principal;
  }

  grant(capabilities: ReadonlySet<string>): void {
    const { granted } = this.info;
    this.info.granted = granted.size === 0 ? capabilities : new Set([...granted, ...capabilities]);
    if (this.#status === "new") this.#status = "open";
    this.#allowance = undefined;
    this.#journal?.touch();
    this.parts.tellOpened();
  }

  refuse({ call, capability }: RequestEntry, isNested: boolean): A2EError | undefined {
    if (this.#status === "open" && capability === this.#lastAdmitted) return undefined;
    if (call === ping) return undefined;
    // What a call in flight needs of others it still gets, or it could not finish.
    if (this.#status === "closing" && !isNested) return refusal("cancelled", "the session is shutting down");
    if (call === handshake) return undefined;
    if (this.#status !== "open" && this.#status !== "closing")
      return refusal("unauthorized", "shake hands first: send handshake/req", {
        capability_name: capability.name,
      });
    if (capability === core || this.info.granted.has(capability.name)) {
      this.#lastAdmitted = capability;
      return undefined;
    }
    const message = `the capability "${capability.name}" was not negotiated: name it in agent_caps of the handshake`;
    return refusal("capability_missing", message, { capability_name: capability.name });
  }

  partsOf(capability: string): readonly SessionPart[] {
    if (capability !== core.name) return this.parts.of(capability);
    this.#core ??= [{ handlers: new SessionCore(this) as unknown as SessionPart["handlers"] }];
    return this.#core;
  }

  send(message: Message): Answer {
    this.tap?.sent(encodeMessage(message));
    return this.#outbox.send(message);
  }

  /** The same for what answers no request, such as an event: it does not hold back further requests while unread. */
  sendAside(message: Message): Answer {
    this.tap?.sent(encodeMessage(message));
    return this.#outbox.sendAside(message);
  }

  answer(answer: CheckedAnswer): Answer {
    const { nextId } = this.sources;
    return this.tap === undefined ? this.#outbox.answer(answer, nextId) : this.send(answer.toMessage(nextId()));
  }

  /** A call has ended and may have changed the state of its capability: the next automatic snapshot is due. */
  noteChange(capability: string): void {
    if (capability !== core.name) this.saving.isChanged = true;
  }

  resend(answer: Answer): void {
    if (answer instanceof CheckedAnswer) return void this.answer(answer);
    this.tap?.sent(typeof answer === "string" ? answer : encodeMessage(answer));
    this.#outbox.resend(answer);
  }

  /** Wires a transport of this process to the session; there is one at a time. */
  bindTransport(end: DirectEnd): () => void {
    if (this.#status === "closed") throw new Error("session is closed");
    return this.#outbox.bind(end);
  }

  /** Reads what the session says after line `from`. Several readers each get everything. */
  attach(from: number, wake: () => void): Reader {
    if (this.#status === "closed") throw new Error("session is closed");
    return this.#outbox.attach(from, wake);
  }

  get unsentBytes(): number {
    return this.#outbox.unsentBytes;
  }

  /** The number of the newest line. */
  get lastSeq(): number {
    return this.#outbox.lastSeq;
  }

  /** The peer says that it has every line up to `seq`. */
  acknowledge(seq: number): void {
    this.#outbox.acknowledge(seq);
  }

  /** The same as `attach`, for those who would rather loop. */
  stream(options: StreamOptions = {}): AsyncGenerator<OutboundLine, void> {
    return streamSession(this, this.#kernel.limits.maxReaderBytes, options);
  }

  /** Calls back once when the session is closed, at once where it is. Returns what takes the listener away. */
  onClosed(listener: () => void): () => void {
    if (this.#status === "closed") listener();
    else {
      this.#closeListeners ??= new Set();
      this.#closeListeners.add(listener);
    }
    return () => this.#closeListeners?.delete(listener);
  }

  /** Ends a call of the agent; false where no such call is in flight. */
  cancel(callId: string, reason: string): boolean {
    return this.#executor.calls.cancel(callId, reason);
  }

  restoreFrom(saved: SavedSession): Promise<unknown> {
    return this.saving.restoreFrom(saved);
  }

  fork(): Promise<{ session: Session; capabilities: Record<string, Forking> }> {
    return forkSession(this, this.#journal, this.#manager);
  }

  async merge(forkId: string): Promise<ResultInputOf<typeof merge>["capabilities"]> {
    this.saving.isChanged = true;
    const fork = this.#manager?.find(forkId);
    return mergeFork(this, isThenable(fork) ? await fork : fork);
  }

  /** Takes no more calls, waits for those in flight, reports what it had to cut off, and closes. */
  shutdown(timeoutMs: number): void {
    void this.close("shutdown", Math.min(timeoutMs, this.#kernel.limits.maxCallTimeoutMs));
  }

  /** Ends the session. Closing twice is closing once, within the shorter of both times. */
  close(reason = "closed", drainMs = 0): Promise<void> {
    if (this.#closing === undefined) this.#closing = this.#close(reason, drainMs);
    else this.#drainTime?.shorten(drainMs);
    return this.#closing;
  }

  async #close(reason: string, drainMs: number): Promise<void> {
    this.#status = "closing";
    this.#isOver = !this.#kernel.isStopping || this.#isTransient;
    this.#opening.refuseBacklog(new A2EError("cancelled", `session ended: ${reason}`));
    this.intake.flush();
    // Not for nothing: an agent that says goodbye is told what was cut off before its transport is gone.
    const cutOff = drainMs > 0 || this.#isLasting ? await this.#drain(drainMs) : this.#executor.calls.pendingIds;
    this.#executor.calls.cancelAll(`session ended: ${reason}`);
    this.#agent.end(`session ended: ${reason}`);
    // A session that the next host takes up again is not closed for its agent, only cut off.
    if (!this.#isLasting)
      this.send(
        createMessage(shutdownReport.type, this.sources.nextId(), this.sources.clock.now(), {
          reason,
          cut_off: cutOff,
        }),
      );
    await this.#journalled();
    if (this.#isDropped) return this.parts.close(false);
    if (!this.#isOver) await this.#manager?.saveDraining(this);
    this.#status = "closed";
    const isSaved = this.#isOver && this.saving.mayHaveSnapshots && (await this.saving.hasSnapshots());
    await this.parts.close(this.#isOver && !isSaved);
    if (this.#isOver) this.#forgetJournalled();
    this.#end();
    if (this.#isOver) await this.saving.forget();
  }

  /** Whether the next host takes it up again. */
  get #isLasting(): boolean {
    return this.#journal !== undefined && !this.#isOver;
  }

  /** Lets calls in flight finish, and leaves to the next host what it can go on with. Resolves with what is cut off. */
  async #drain(drainMs: number): Promise<string[]> {
    const { calls } = this.#executor;
    const time = new DrainTime(drainMs);
    this.#drainTime = time;
    const leaving = this.#isLasting ? this.parts.leave(time.signal, (ids) => calls.leave(ids)) : undefined;
    const cutOff = await calls.drain(time.signal);
    await leaving;
    time.clear();
    return cutOff;
  }

  /** A journal that cannot be written must not keep a session from ending; its age will take it. */
  #forgetJournalled(): void {
    try {
      this.#journal?.forget();
    } catch (error) {
      this.#kernel.log.error("an ended session could not be removed", { session: shortId(this.id), error });
    }
  }

  /** Waits until all outgoing lines are sent, which happens once they are durable, or lost. */
  async #journalled(): Promise<void> {
    const journal = this.#journal;
    if (journal !== undefined) await new Promise<void>((resolve) => journal.lines.committed(() => resolve()));
  }

  #end(): void {
    for (const listener of [...(this.#closeListeners ?? [])]) listener();
    this.#closeListeners = undefined;
    this.intake.close();
    this.#outbox.close();
    this.tap?.close();
    this.#manager?.forget(this);
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
