// A run that does not end at once: its timeout, the requests that wait for it, and its entry in the list of its
// session.
import type { CallContext } from "../../plugin/call-context.ts";
import type { RequestOf, ResultInputOf, ResultOf } from "../../protocol/table/capability.ts";
import type { Plan } from "./plan/plan.ts";
import { putBack, timedOut } from "./problems.ts";
import type { ChainRunError, chains } from "./protocol.ts";
import type { ChainRun } from "./run/chain-run.ts";
import type { Followers } from "./run/followers.ts";
import type { SessionPort } from "./run/session-port.ts";
import type { StateJournal } from "./run/state-journal.ts";

export type RunRequest = RequestOf<(typeof chains.calls)["run"]>;
export type RunResult = ResultInputOf<(typeof chains.calls)["run"]>;
/** The result of a run that was started. */
export type EndedResult = ResultOf<(typeof chains.calls)["run"]>;

/** The chain's own timeout must fire before the kernel's, which could not report the outputs so far. */
const graceMs = 2000;

interface LiveRunParts {
  readonly run: ChainRun;
  readonly request: RunRequest;
  readonly plan: Plan;
  readonly port: SessionPort;
  readonly journal: StateJournal;
  readonly followers: Followers;
  readonly answered: Promise<RunResult>;
  readonly isResumed: boolean;
}

export class LiveRun {
  readonly answered: Promise<RunResult>;
  readonly #parts: LiveRunParts;
  readonly #stopTimer: (() => void) | undefined;

  constructor(parts: LiveRunParts) {
    const { run, request, port, answered } = parts;
    const { timeout } = request;
    this.#parts = parts;
    this.answered = answered;
    if (timeout > 0) this.#stopTimer = port.startTimer(timeout * 1000, () => run.abort(timedOut(timeout)));
  }

  /** Gives a request the timeout of the chain, plus a grace period. */
  allowTime(call: CallContext): void {
    const { timeout } = this.#parts.request;
    call.setTimeout(timeout === 0 ? Number.MAX_SAFE_INTEGER : timeout * 1000 + graceMs);
  }

  /** The request of a resumed run was repeated: it gets the answer. */
  join(call: CallContext): Promise<RunResult> {
    const { run, followers } = this.#parts;
    followers.add(call);
    this.allowTime(call);
    call.signal.addEventListener("abort", () => run.stop(), { once: true });
    return this.answered;
  }

  abort(error: ChainRunError): void {
    this.#parts.run.abort(error);
  }

  /** False if the run has ended meanwhile. */
  leave(signal: AbortSignal): Promise<boolean> {
    return this.#parts.run.windDown(signal);
  }

  /** The session ends, or is restored to a snapshot. */
  close(): void {
    const { run, followers, journal } = this.#parts;
    if (followers.isAwaited) run.abort(putBack());
    else if (journal.isReplaced) run.stop();
    else run.suspend();
  }

  /** The run has ended. */
  release(): void {
    this.#stopTimer?.();
    this.#parts.port.close();
  }

  describe(run_id: string) {
    const { request, run, plan, isResumed } = this.#parts;
    return {
      run_id,
      chain_id: request.chain_id || run_id,
      status: "running" as const,
      nodes_run: run.nodesRun,
      nodes_total: plan.nodes.length,
      resumed: isResumed,
    };
  }
}
