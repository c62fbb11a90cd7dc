// Calls that wait for their answer: found by id, given up on time or on request.
import type { Clock } from "../protocol/envelope.ts";
import { IdTable } from "../protocol/id-table.ts";
import { A2EConnectionError } from "./errors.ts";
import type { PendingCall } from "./pending-call.ts";

/** How late a timeout may be noticed. */
const sweepMs = 25;

/** Time that passes evenly: the clock on the wall may be set while a call waits. */
export const steadyClock: Clock = { now: () => performance.now() };

export class PendingCalls {
  /** The latest call stays out of the table until another call is made: most agents make a single call at a time. */
  #latest: PendingCall | undefined;
  #table: IdTable<PendingCall> | undefined;
  readonly #clock: Clock;
  readonly #onGivenUp: (call: PendingCall) => void;
  #timer: ReturnType<typeof setInterval> | undefined;
  #added = 0;
  #emptyWaiters: (() => void)[] = [];

  constructor(clock: Clock, onGivenUp: (call: PendingCall) => void) {
    this.#clock = clock;
    this.#onGivenUp = onGivenUp;
  }

  get(id: string): PendingCall | undefined {
    const latest = this.#latest;
    return latest !== undefined && latest.message.id === id ? latest : this.#table?.get(id);
  }

  /** In the order in which they were made. */
  all(): PendingCall[] {
    const calls = (this.#table?.values() ?? []).sort((first, second) => first.sequence - second.sequence);
    return this.#latest === undefined ? calls : [...calls, this.#latest];
  }

  get #isEmpty(): boolean {
    return this.#latest === undefined && (this.#table === undefined || this.#table.size === 0);
  }

  add(call: PendingCall): void {
    // First, because it throws if `signal` is not an AbortSignal: a call that was rejected must not be sent again
    // later.
    if (call.options.signal !== undefined) this.#listen(call, call.options.signal);
    call.sequence = this.#added;
    this.#added += 1;
    if (this.#latest !== undefined) {
      this.#table ??= new IdTable();
      this.#latest.entry = this.#table.add(this.#latest.message.id, this.#latest);
    }
    this.#latest = call;
  }

  #listen(call: PendingCall, signal: AbortSignal): void {
    call.onAbort = () => this.#giveUp(call, abortError(signal));
    signal.addEventListener("abort", call.onAbort, { once: true });
  }

  /** Looks after a call that was not answered as it was sent, as an agent in the host's process is. */
  watch(call: PendingCall): void {
    if (this.#isEmpty) return;
    if (call.timeoutMs > 0) call.expiresAt = this.#clock.now() + call.timeoutMs;
    // A single timer for all calls: thousands of calls may come and go within a tick.
    this.#timer ??= setInterval(() => this.#expire(), sweepMs);
  }

  /** The result is no longer needed. */
  remove(call: PendingCall): void {
    if (call === this.#latest) this.#latest = undefined;
    else if (call.entry !== undefined) this.#table?.remove(call.entry);
    if (call.onAbort !== undefined) call.options.signal?.removeEventListener("abort", call.onAbort);
    if (this.#emptyWaiters.length > 0 && this.#isEmpty) for (const resume of this.#emptyWaiters.splice(0)) resume();
  }

  rejectAll(createError: () => Error): void {
    for (const call of this.all()) {
      this.remove(call);
      call.reject(createError());
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Resolves when no call waits any more. */
  async whenEmpty(): Promise<void> {
    if (!this.#isEmpty) await new Promise<void>((resolve) => this.#emptyWaiters.push(resolve));
  }

  #giveUp(call: PendingCall, error: Error): void {
    this.remove(call);
    this.#onGivenUp(call);
    call.reject(error);
  }

  #expire(): void {
    if (this.#isEmpty) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = this.#clock.now();
    for (const call of this.all()) {
      if (call.expiresAt > now) continue;
      this.#giveUp(
        call,
        new A2EConnectionError("timeout", `no answer to ${call.call.type} within ${call.timeoutMs} ms`),
      );
    }
  }
}

export function abortError(signal: AbortSignal): A2EConnectionError {
  return new A2EConnectionError("aborted", "the call was aborted by its caller", signal.reason);
}
