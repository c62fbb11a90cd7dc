// One process from its start to its end: what it writes is kept, its time is counted, and its end is told exactly once.
import type { ProcessExit } from "../../host/ports/sandbox.ts";
import type { Child, ChildEvents } from "./child/child.ts";
import { type EndReason, judgeEnd, nameSignal, toEndEvent } from "./ending.ts";
import { ProcessGroup } from "./group/process-group.ts";
import { isDeadly, type Signal, signalNumber } from "./group/signals.ts";
import { startDrain } from "./output/drain.ts";
import { type Audience, Feed } from "./output/feed.ts";
import { OutputRing } from "./output/output-ring.ts";
import type { ProcessOptions } from "./process-options.ts";
import type { ProcStatus, StreamName } from "./protocol.ts";

/** How much of the end of stderr a sandbox is shown to judge by. */
const verdictBytes = 4096;

export class ManagedProcess {
  readonly id: string;
  readonly ring: OutputRing;
  /** Goes on when the session ends that holds it. */
  isDetached = false;
  /** The session that ends it; another one may take it over. None where it was detached and that session has ended. */
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

  /** Starts it by this function, which is given whom to tell. Rejects where it cannot be started. */
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

  /** Whether a sandbox sees to it that nothing of it is left. */
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

  /** From now on an agent is told what it writes, beginning at the cursor. Another audience than before takes its place. */
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

  /** Calls back whenever something was written or the process has ended. Returns what ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** False where nobody is left to get it. */
  signal(signal: Signal): boolean {
    if (isDeadly(signal)) this.#sentSignals.add(signal.number);
    return this.#group?.signal(signal.number) ?? false;
  }

  /** SIGTERM, a while to act on it, SIGKILL. */
  terminate(reason: EndReason): void {
    if (this.hasEnded || this.#reason !== undefined) return;
    this.#reason = reason;
    this.#group?.signal(signalNumber("SIGTERM"));
    // A process that was stopped would not notice.
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

  /** At once, and whatever it does. */
  kill(): void {
    if (!this.hasEnded) this.#group?.kill();
  }

  #take(stream: StreamName, bytes: Buffer): void {
    const { maxOutputBytes } = this.#options.limits;
    const room = maxOutputBytes > 0 ? maxOutputBytes - this.ring.end : bytes.length;
    if (bytes.length > room) this.terminate("output_limit");
    // What comes while it is being ended is read, so that it can end, and kept by nobody.
    if (room === 0) return;
    this.ring.append(stream, bytes.subarray(0, room));
    this.#feed?.pump();
    if (this.#isBehind && !this.#isPaused) {
      this.#isPaused = true;
      this.#child?.pause();
    }
    this.#tell();
  }

  /** Whether more of what it writes would push out what somebody still wants. */
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
    // A signal from here would look like a crash.
    const verdict = wasAsked
      ? undefined
      : await confinement.verdict({ ...ended, stderr: this.#lastErrors() }).catch(() => undefined);
    const isFull = verdict !== undefined && confinement.isWorkspaceFull?.() === true;
    // Its end is not told before nothing of it is left.
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

  /** One thing at a time: the end of its time, then that of its grace. */
  #after(delayMs: number, act: () => void): void {
    clearTimeout(this.#timer);
    // A timer cannot wait longer than this.
    this.#timer = setTimeout(act, Math.min(delayMs, 2 ** 31 - 1));
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
