// A process and all its descendants, as one target for signals.
import { signalName } from "../../../machinery/processes/signal-names.ts";
import { killMarked, signalGroup } from "./group.ts";
import { familyOf, type Hearing, hearingOf, isEndedBy } from "./hearing.ts";
import { signalNumber } from "./signals.ts";

export interface ProcessGroupOptions {
  /** The process id of its leader. */
  readonly pid: number;
  /** The sandbox ends all processes that are left. */
  readonly isConfined: boolean;
  /** Its leader is a keeper and not the program: signals are not for it. */
  readonly isKept: boolean;
  /** The mark by which processes outside of the group are found. */
  readonly mark: string;
  /** How long setting up may take until the program runs. */
  readonly setUpMs: number;
}

const pollMs = 5;
/** The last signal that Node has a name for. */
const lastNamedSignal = 31;

export class ProcessGroup {
  readonly #options: ProcessGroupOptions;
  readonly #startedAt = performance.now();
  /** Signals that were sent before the program could receive them. */
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

  /** A signal without a name in Node that was sent and ends the leader. */
  get unnamedSignal(): NodeJS.Signals | undefined {
    return this.#unnamedSignal;
  }

  /** False if no process is left to receive it. */
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

  /** Kills all processes at once. */
  kill(): void {
    this.killMembers();
    // Finds processes that left the group. A process that also removed its mark can only be ended by a sandbox.
    const { isConfined, mark } = this.#options;
    if (!isConfined) killMarked((one) => one === mark);
  }

  /** Kills only the processes in the group. */
  killMembers(): void {
    this.#send(signalNumber("SIGKILL"));
  }

  /** From now on the system may reuse its process id, unless the group has members left. */
  leaderEnded(): void {
    clearInterval(this.#timer);
    this.#isGone = !this.#send(0);
  }

  #send(number: number): boolean {
    return !this.#isGone && signalGroup(this.#options.pid, number);
  }

  /**
   * While a sandbox or a terminal is being set up, all processes in the group ignore signals, and the program does not
   * exist yet. Returns the processes that would receive the signal; undefined if the program runs, or if it is unknown.
   */
  #takersOf(number: number): number[] | undefined {
    const { pid, isConfined, isKept, setUpMs } = this.#options;
    if (!(isConfined || isKept) || performance.now() - this.#startedAt > setUpMs) return undefined;
    const family = familyOf(pid);
    return family.length === 0 ? undefined : family.filter((one) => this.#hearingOf(one, number) === "takes it");
  }

  /** Sends the signal to the group. False if no process received it, so that it can be sent again. */
  #isTaken(number: number, takers: readonly number[]): boolean {
    // A process that was just forked does not lead its group yet.
    if (takers.length === 0 || !this.#send(number)) return false;
    // They may have begun to ignore the signal while they set up the sandbox. Processes that received it are ending.
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
