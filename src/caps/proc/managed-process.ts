// One process from its start to its end: keeps its output, enforces its timeout, and reports its end exactly once.
import type { ProcessExit } from "../../plugin/ports/sandbox.ts";
import type { Child, ChildEvents } from "./child/child.ts";
import { type EndReason, judgeEnd, nameSignal, toEndEvent } from "./ending.ts";
import { ProcessGroup } from "./group/process-group.ts";
import { isDeadly, type Signal, signalNumber } from "./group/signals.ts";
import { startDrain } from "./output/drain.ts";
import { type Audience, Feed } from "./output/feed.ts";
import { OutputRing } from "./output/output-ring.ts";
import type { ProcessOptions } from "./process-options.ts";
import type { ProcStatus, StreamName } from "./protocol.ts";

/** Bytes at the end of stderr that a sandbox gets for its verdict. */
const verdictBytes = 4096;

export class ManagedProcess {
  readonly id: string;
  readonly ring: OutputRing;
  /** Continues when the session that holds it ends. */
  isDetached = false;
  /**
   * The session that ends this process; another session may take it over. Undefined if it was detached and that session
   * has ended.
   */
  holder: object | undefined;
  readonly #options: ProcessOptions;
  readonly #startedAt: number;
  readonly #listeners = new Set<() => void>();
  readonly #sentSignals = new Set<number>();
  #child: Child | undefined;
  #group: ProcessGroup | undefined;
  #feed: Feed | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopDrain = () => {};
  #reason: EndReason | undefined;
  #exit: ProcessExit | undefined;
  #isFinishing = false;
  #isPaused = false;
  #isAwaited: boolean;
  #end: (ReturnType<typeof judgeEnd> & { ended_at: number }) | undefined;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.id = options.id;
    this.#isAwaited = options.isAwaited;
    this.ring = new OutputRing({ maxBytes: options.limits.ringBytes, maxSegments: options.limits.maxRingSegments });
    this.#startedAt = options.clock.now() / 1000;
  }

  /** Starts the process with `startChild`, which gets the event listeners. Rejects if it cannot be started. */
  async start(startChild: (events: ChildEvents) => Promise<Child>): Promise<void> {
    const { timeoutMs, isOnTerminal, mark, limits } = this.#options;
    this.#child = await startChild({
      output: (stream, bytes) => this.#take(stream, bytes),
      exited: (code, signal) => this.#exited(code, signal),
      closed: () => void this.#finish(),
    });
    const { pid } = this.#child;
    const { isConfined } = this;
    this.#group = new ProcessGroup({ pid, isConfined, isKept: isOnTerminal, mark, setUpMs: limits.setUpMs });
    this.#after(timeoutMs, () => this.terminate("timeout"));
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  get child(): Child {
    if (this.#child === undefined) throw new Error("the process was not started");
    return this.#child;
  }

  /** Whether a sandbox ends all processes that are left. */
  get isConfined(): boolean {
    return this.#options.sandbox !== "none";
  }

  get mark(): string {
    return this.#options.mark;
  }

  status(): ProcStatus {
    const { id, cmd, cwd, sandbox } = this.#options;
    return {
      proc_id: id,
      status: "running",
      state: "running",
      error: "",
      cmd: [...cmd],
      cwd,
      pid: this.#child?.pid ?? 0,
      exit_code: null,
      signal: "",
      started_at: this.#startedAt,
      ended_at: null,
      stdout_bytes: this.ring.endOf("stdout"),
      stderr_bytes: this.ring.endOf("stderr"),
      detached: this.isDetached,
      sandbox,
      ...this.#end,
    };
  }

  /** Sends output from the cursor on to an agent. Replaces the last audience. */
  follow(audience: Audience, reqId: string, cursor: number): void {
    this.unfollow();
    const { limits } = this.#options;
    this.#feed = new Feed({
      ring: this.ring,
      audience,
      procId: this.id,
      reqId,
      cursor,
      limits,
      onRoom: () => this.#resume(),
    });
    if (this.#end === undefined) this.#feed.pump();
    else this.#feed.finish(toEndEvent(this.status()));
  }

  unfollow(): void {
    this.#isAwaited = false;
    this.#feed?.close();
    this.#feed = undefined;
    this.#resume();
  }

  /** Calls `listener` after each output and after the end. Returns a function that removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** False if no process is left to receive it. */
  signal(signal: Signal): boolean {
    if (isDeadly(signal)) this.#sentSignals.add(signal.number);
    return this.#group?.signal(signal.number) ?? false;
  }

  /** SIGTERM, then SIGKILL after the grace period. */
  terminate(reason: EndReason): void {
    if (this.hasEnded || this.#reason !== undefined) return;
    this.#reason = reason;
    this.#group?.signal(signalNumber("SIGTERM"));
    // A stopped process would not handle the SIGTERM.
    this.#group?.signal(signalNumber("SIGCONT"));
    if (this.#exit === undefined) this.#after(this.#options.limits.graceMs, () => this.kill());
  }

  /** Resolves when it has ended, or after this time. */
  async whenEnded(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    if (this.hasEnded) return;
    await new Promise<void>((resolve) => {
      const timer = Number.isFinite(withinMs) ? setTimeout(() => finish(), withinMs) : undefined;
      const forget = this.onChange(() => {
        if (this.hasEnded) finish();
      });
      const finish = () => {
        clearTimeout(timer);
        forget();
        resolve();
      };
    });
  }

  /** Kills it at once. */
  kill(): void {
    if (!this.hasEnded) this.#group?.kill();
  }

  #take(stream: StreamName, bytes: Buffer): void {
    const { maxOutputBytes } = this.#options.limits;
    const room = maxOutputBytes > 0 ? maxOutputBytes - this.ring.end : bytes.length;
    if (bytes.length > room) this.terminate("output_limit");
    // Output beyond the limit is read, so that the process can end, and discarded.
    if (room === 0) return;
    this.ring.append(stream, bytes.subarray(0, room));
    this.#feed?.pump();
    if (this.#isBehind && !this.#isPaused) {
      this.#isPaused = true;
      this.#child?.pause();
    }
    this.#tell();
  }

  /** Whether further output would overwrite output that a reader still needs. */
  get #isBehind(): boolean {
    if (this.#feed !== undefined) return this.#feed.isBehind;
    return this.#isAwaited && this.ring.keptBytes > this.ring.maxBytes / 2;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#child?.resume();
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit = { code, signal };
    clearTimeout(this.#timer);
    this.#group?.leaderEnded();
    const port = {
      isHeld: () => this.#isPaused,
      bytesRead: () => this.ring.end,
      endOthers: () => this.#group?.killMembers(),
      giveUp: () => {
        this.child.destroy();
        void this.#finish();
      },
    };
    this.#stopDrain = startDrain(port, this.#options.limits.drainMs);
  }

  async #finish(): Promise<void> {
    if (this.#isFinishing) return;
    this.#isFinishing = true;
    clearTimeout(this.#timer);
    this.#stopDrain();
    this.#group?.killMembers();
    const { confinement } = this.#options;
    const { report } = this.child;
    const exit = this.#exit ?? { code: null, signal: null };
    const ended = confinement.exitOf(nameSignal(exit, report, this.#group?.unnamedSignal), report);
    const wasAsked = this.#reason !== undefined || this.#wasSent(ended.signal);
    // A signal of this host would look like a crash to the sandbox.
    const verdict = wasAsked
      ? undefined
      : await confinement.verdict({ ...ended, stderr: this.#lastErrors() }).catch(() => undefined);
    const isFull = verdict !== undefined && confinement.isWorkspaceFull?.() === true;
    // The end is reported only when all processes are gone.
    await confinement.release().catch(() => {});
    const cause = this.#reason ?? (isFull ? "workspace_limit" : verdict) ?? "";
    this.#end = { ...judgeEnd(ended, cause, wasAsked), ended_at: this.#options.clock.now() / 1000 };
    this.#feed?.finish(toEndEvent(this.status()));
    this.#tell();
    this.#options.onEnded();
  }

  #lastErrors(): string {
    const from = Math.max(0, this.ring.endOf("stderr") - verdictBytes);
    return Buffer.concat(this.ring.readStream("stderr", from, verdictBytes).map(({ bytes }) => bytes)).toString("utf8");
  }

  #wasSent(signal: NodeJS.Signals | null): boolean {
    return signal !== null && this.#sentSignals.has(signalNumber(signal));
  }

  /** One timer: first for the timeout, then for the grace period. */
  #after(delayMs: number, act: () => void): void {
    clearTimeout(this.#timer);
    // The longest delay of a timer.
    this.#timer = setTimeout(act, Math.min(delayMs, 2 ** 31 - 1));
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
