// Ends a session: lets its calls finish, reports the end to its agent, closes its plugins, and removes it from the journal
// or leaves it there for the next host. The states and events are those of session-life.ts.
import { DrainTime } from "../../machinery/pacing/drain-time.ts";
import { createMessage } from "../../protocol/codec.ts";
import { shutdownReport } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { CallAudit } from "../calls/call-audit.ts";
import type { CallRunner } from "../calls/call-runner.ts";
import type { Kernel } from "../kernel.ts";
import type { Outbox } from "../outbound/outbox.ts";
import type { SessionJournal } from "../ports/journal.ts";
import type { KeptEntry } from "../ports/session-keeping.ts";
import type { SessionParts } from "./session-parts.ts";

/** The components of a session that have to be ended. */
export interface EndingComponents {
  readonly journal: SessionJournal | undefined;
  readonly outbox: Outbox;
  readonly parts: SessionParts;
  readonly calls: CallRunner;
  readonly kept: KeptEntry;
}

/** The session, from the side of its ending. */
export interface EndingPort {
  /** The event to apply if the host stops: "end" if the agent cannot reconnect. */
  readonly whenHostStops: "end" | "leave";
  readonly audit: Pick<CallAudit, "report">;
  /** Answers the messages that wait to be handled with this error. */
  refuseWaiting(error: A2EError): void;
  /** Called once, when the session has ended here. */
  ended(): void;
}

export class SessionEnding {
  readonly #kernel: Kernel;
  readonly #session: EndingComponents;
  readonly #port: EndingPort;
  #closing: Promise<void> | undefined;
  #drainTime: DrainTime | undefined;

  constructor(kernel: Kernel, session: EndingComponents, port: EndingPort) {
    this.#kernel = kernel;
    this.#session = session;
    this.#port = port;
  }

  /** If it is called twice, the shorter time counts. */
  close(reason: string, drainMs: number): Promise<void> {
    if (this.#closing === undefined) this.#closing = this.#close(reason, drainMs);
    else this.#drainTime?.shorten(drainMs);
    return this.#closing;
  }

  async #close(reason: string, drainMs: number): Promise<void> {
    const { calls, journal, kept, parts } = this.#session;
    const { life } = parts.scope;
    life.apply(this.#kernel.isStopping ? this.#port.whenHostStops : "end");
    const isLasting = journal !== undefined && life.state === "leaving";
    const ended = new A2EError("cancelled", `session ended: ${reason}`);
    this.#port.refuseWaiting(ended);
    // The report names the interrupted calls, so their ids are collected before `#stopCalls` cancels them.
    const cutOff = drainMs > 0 || isLasting ? await this.#drain(drainMs, isLasting) : calls.pendingIds;
    this.#stopCalls(ended.message);
    // A session that the next host recovers has not ended for its agent, so it gets no report.
    if (!isLasting) this.#sendReport(reason, cutOff);
    // All outgoing lines are sent once they are durable, or lost.
    if (journal !== undefined) await new Promise<void>((resolve) => journal.lines.committed(() => resolve()));
    if (life.state === "dropped") return parts.close(false);
    if (life.state === "leaving") await kept.closing.leave();
    life.apply("finish");
    if (life.state === "gone") return this.#closeForGood();
    await parts.close(false);
    this.#port.ended();
  }

  async #closeForGood(): Promise<void> {
    const { kept, parts } = this.#session;
    const isRestorable = kept.closing.isRestorable();
    await parts.close(!(typeof isRestorable === "boolean" ? isRestorable : await isRestorable));
    this.#forgetJournalled();
    this.#port.ended();
    await kept.closing.forget();
  }

  /** Lets calls in flight finish, or leaves them to the next host. Resolves with the ids of all other calls. */
  async #drain(drainMs: number, isLasting: boolean): Promise<string[]> {
    const { calls, parts } = this.#session;
    const time = new DrainTime(drainMs);
    this.#drainTime = time;
    const leaving = isLasting ? parts.leave(time.signal, (ids) => calls.leave(ids)) : undefined;
    const cutOff = await calls.drain(time.signal);
    await leaving;
    time.clear();
    return cutOff;
  }

  #stopCalls(reason: string): void {
    this.#session.calls.cancelAll(reason);
    this.#session.parts.agent.end(reason);
  }

  #sendReport(reason: string, cut_off: string[]): void {
    const { nextId, clock } = this.#session.parts.scope.sources;
    const report = { reason, cut_off, ...this.#port.audit.report() };
    this.#session.outbox.send(createMessage(shutdownReport.type, nextId(), clock.now(), report));
  }

  /** A journal that fails must not prevent a session from closing. Its entry is removed later, at `sessionMaxAgeMs`. */
  #forgetJournalled(): void {
    try {
      this.#session.journal?.forget();
    } catch (error) {
      const session = this.#session.parts.scope.info.handle;
      this.#kernel.log.error("an ended session could not be removed", { session, error });
    }
  }

  /**
   * The journal could not write a turn: the session in memory is ahead of it, so it is closed here and may be
   * recovered.
   */
  drop(error: Error): void {
    const { scope } = this.#session.parts;
    if (!scope.life.apply("drop")) return;
    // Logged without a stack: many sessions may be dropped at once, all with the same stack.
    const { message: reason } = error;
    this.#kernel.log.error("a session could not be written and is dropped", {
      session: scope.info.handle,
      reason,
    });
    this.#stopCalls("the host could not save this session");
    // Closing it later must not remove it from the journal.
    this.#closing ??= this.#session.parts.close(false);
    this.#port.ended();
  }
}
