// A process and all that it started, as one thing to be signalled.
import { signalName } from "../../../machinery/processes/signal-names.ts";
import { killMarked, signalGroup } from "./group.ts";
import { familyOf, type Hearing, hearingOf, isEndedBy } from "./hearing.ts";
import { signalNumber } from "./signals.ts";

export interface ProcessGroupOptions {
  /** Of its leader. */
  readonly pid: number;
  /** A sandbox sees to it that nothing of it is left. */
  readonly isConfined: boolean;
  /** Its leader is no part of the program: signals are not for it. */
  readonly isKept: boolean;
  /** What finds those that have left it. */
  readonly mark: string;
  /** How long it may take until the program runs. */
  readonly setUpMs: number;
}

const pollMs = 5;
/** Of those that Node knows. */
const lastNamedSignal = 31;

export class ProcessGroup {
  readonly #options: ProcessGroupOptions;
  readonly #startedAt = performance.now();
  /** Sent before there was a program to take them. */
  readonly #early: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isGone = false;
  #unnamedSignal: NodeJS.Signals | undefined;

  constructor(options: ProcessGroupOptions) {
    this.#options = options;
  }

  get pid(): number {
    return this.#options.pid;
  }

  /** A signal that was sent and ends the leader, though Node will not say so. */
  get unnamedSignal(): NodeJS.Signals | undefined {
    return this.#unnamedSignal;
  }

  /** False where nobody is left to get it. */
  signal(number: number): boolean {
    if (number > lastNamedSignal && isEndedBy(this.#options.pid, number)) this.#unnamedSignal ??= signalName(number);
    const isInTurn = this.#early.length === 0;
    const takers = this.#takersOf(number);
    if (isInTurn && takers === undefined) return this.#send(number);
    if (isInTurn && takers !== undefined && this.#isTaken(number, takers)) return true;
    this.#early.push(number);
    this.#timer ??= setInterval(() => this.#sendEarly(), pollMs).unref();
    return true;
  }

  /** At once, and whatever it does. */
  kill(): void {
    this.killMembers();
    // What left its group is not found by it; what hides from this too needs a sandbox.
    const { isConfined, mark } = this.#options;
    if (!isConfined) killMarked((one) => one === mark);
  }

  /** The same for those that have not left. */
  killMembers(): void {
    this.#send(signalNumber("SIGKILL"));
  }

  /** From now on the system may give its number to others, unless there are members left. */
  leaderEnded(): void {
    clearInterval(this.#timer);
    this.#isGone = !this.#send(0);
  }

  #send(number: number): boolean {
    return !this.#isGone && signalGroup(this.#options.pid, number);
  }

  /**
   * While a sandbox or a terminal is made, everybody in the group ignores signals, and the program does not exist yet that
   * could take them. These are the processes that would; undefined where the program runs, or where nobody can tell.
   */
  #takersOf(number: number): number[] | undefined {
    const { pid, isConfined, isKept, setUpMs } = this.#options;
    if (!(isConfined || isKept) || performance.now() - this.#startedAt > setUpMs) return undefined;
    const family = familyOf(pid);
    return family.length === 0 ? undefined : family.filter((one) => this.#hearingOf(one, number) === "takes it");
  }

  /** Sends it to these. Where nobody has got it, it can be sent again without anybody getting it twice. */
  #isTaken(number: number, takers: readonly number[]): boolean {
    // A process that was just born does not lead its group yet.
    if (takers.length === 0 || !this.#send(number)) return false;
    // They may have stopped their ears meanwhile, on their way to become the sandbox. Those that got it are dying.
    return takers.some((pid) => this.#hearingOf(pid, number) !== "deaf");
  }

  #hearingOf(pid: number, number: number): Hearing {
    return hearingOf(pid, number, this.#options.isKept ? this.#options.pid : undefined);
  }

  #sendEarly(): void {
    for (let number = this.#early[0]; number !== undefined; number = this.#early[0]) {
      const takers = this.#takersOf(number);
      if (takers === undefined) this.#send(number);
      else if (!this.#isTaken(number, takers)) return;
      this.#early.shift();
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
