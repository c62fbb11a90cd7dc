// One run of a plan. The plan has everything that can be computed in advance, so a run mostly counts edges. A node
// whose call returns at once needs no promise.
import { remainingBytes } from "../../../machinery/validation/json-size.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Edge, Plan, PlannedNode } from "../plan/plan.ts";
import type { ChainRunError } from "../protocol.ts";
import { type NodeError, toNodeError } from "./nodes/node-error.ts";
import { NodeWorker } from "./nodes/node-worker.ts";
import type { OutputReference } from "./output-store.ts";
import { hasFailed, isDone, isSkipped, type RunOutcome, toOutcome } from "./run-outcome.ts";
import type { Awaitable, Recorded } from "./run-port.ts";
import { RunScope } from "./run-scope.ts";
import type { RunSettings } from "./run-settings.ts";

export class ChainRun {
  readonly #settings: RunSettings;
  readonly #plan: Plan;
  readonly #scope: RunScope;
  readonly #worker: NodeWorker;
  /** The number of edges that are not settled, by node. */
  readonly #pending: number[];
  /** Whether a relevant edge is live, by node; empty if all edges are always live. */
  readonly #isFed: boolean[];
  readonly #states: number[];
  /** A queue that restarts at index 0 whenever it is empty, so that a long chain needs no long array. */
  readonly #ready: number[];
  #nextReady = 0;
  #readyEnd: number;
  #running = 0;
  #bytesLeft: number;
  #references: Map<number, OutputReference> | undefined;
  #nodesRun = 0;
  #outcome: RunOutcome | undefined;
  #isOver = false;
  #settle: ((outcome: RunOutcome) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  /** Whether results are written to the journal. A run that ends at once writes nothing. */
  #isNoted: boolean;
  #isPausing = false;
  #isWaitingForSlot = false;
  /** Set by windDown(): no node starts any more, and this is called when the last running node has ended. */
  #onWoundDown: (() => void) | undefined;

  constructor(settings: RunSettings) {
    const { plan } = settings;
    const count = plan.nodes.length;
    this.#settings = settings;
    this.#plan = plan;
    this.#scope = new RunScope(plan, settings.input);
    this.#worker = new NodeWorker(settings, this.#scope.work);
    this.#pending = plan.incoming.slice();
    this.#isFed = plan.isUnconditional ? [] : new Array<boolean>(count).fill(false);
    this.#states = new Array<number>(count).fill(0);
    this.#isNoted = settings.journal.isResumed;
    this.#ready = plan.roots.slice();
    this.#readyEnd = plan.roots.length;
    this.#bytesLeft = settings.maxAnswerBytes;
  }

  get nodesRun(): number {
    return this.#nodesRun;
  }

  /**
   * Never settles if the run is stopped or suspended, because no request waits for it then. Rejects with unexpected
   * errors, such as a full disk.
   */
  start(): Awaitable<RunOutcome> {
    try {
      this.#pump();
      if (this.#outcome !== undefined) return this.#outcome;
      this.#open();
    } catch (error) {
      this.suspend();
      throw error;
    }
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#reject = reject;
    });
  }

  #open(): void {
    this.#settings.journal.open();
    if (this.#isNoted) return;
    this.#isNoted = true;
    for (const node of this.#plan.nodes) this.#note(node);
  }

  /** Writes the result of a node to the journal, if it has one. */
  #note({ index, id, onError }: PlannedNode): void {
    if (!this.#isNoted) return;
    const { journal } = this.#settings;
    const state = this.#states[index];
    if (state === hasFailed && onError !== "abort")
      journal.note(String(index), { error: this.#scope.errors[id] as NodeError });
    if (state !== isDone) return;
    const reference = this.#references?.get(index);
    const recorded = reference === undefined ? { output: this.#scope.outputs[index] ?? null } : { reference };
    const errors = this.#worker.takeItemErrors(index);
    journal.note(String(index), errors === undefined ? recorded : { ...recorded, errors });
  }

  /** Ends the run now with an error, and stops everything that it has started. */
  abort(error: ChainRunError): void {
    if (!this.#isOver) this.#finish(error);
  }

  /** Ends the run without an answer, for example because its request was cancelled. */
  stop(): void {
    if (this.#isOver) return;
    this.#settings.journal.clear();
    this.suspend();
  }

  /** Ends the run in this process; another process can resume it. */
  suspend(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#worker.close();
    this.#settings.onGone();
    this.#onWoundDown?.();
  }

  /**
   * Starts no further nodes, and suspends the run once the running nodes have ended or the signal aborts. False if the
   * run has ended.
   */
  windDown(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = () => {
        signal.removeEventListener("abort", settle);
        resolve(!this.#isOver);
        this.suspend();
      };
      this.#onWoundDown = settle;
      signal.addEventListener("abort", settle, { once: true });
      if (signal.aborted || this.#isOver || this.#running === 0) settle();
    });
  }

  #pump(): void {
    const { maxParallel } = this.#settings;
    if (this.#onWoundDown !== undefined && this.#nextReady < this.#readyEnd) {
      if (this.#running === 0) this.#onWoundDown();
      return;
    }
    while (this.#nextReady < this.#readyEnd && this.#running < maxParallel && !this.#isOver) {
      if (this.#scope.work.isTurnOver) return this.#pause();
      if (this.#worker.isFull) return this.#waitForSlot();
      this.#begin(this.#takeReady());
    }
    if (this.#running === 0 && !this.#isOver) this.#finish(null);
  }

  #takeReady(): number {
    const index = this.#ready[this.#nextReady++] as number;
    if (this.#nextReady === this.#readyEnd) this.#nextReady = this.#readyEnd = 0;
    return index;
  }

  #addReady(index: number): void {
    this.#ready[this.#readyEnd++] = index;
  }

  /** Continues after other work of the event loop. */
  #pause(): void {
    if (this.#isPausing) return;
    this.#isPausing = true;
    // Counted like a running node, so that the run does not end.
    this.#running += 1;
    this.#follow(this.#scope.work.nextTurn(), () => {
      this.#isPausing = false;
      this.#running -= 1;
      this.#pump();
    });
  }

  /** Items of maps occupy all slots. Their maps are still running, so the run has not ended. */
  #waitForSlot(): void {
    if (this.#isWaitingForSlot) return;
    this.#isWaitingForSlot = true;
    this.#follow(new Promise<void>((resolve) => this.#worker.slots.whenFree(resolve)), () => {
      this.#isWaitingForSlot = false;
      this.#pump();
    });
  }

  /** An unexpected error fails the run, not the whole process. */
  #follow<Value>(work: Promise<Value>, then: (value: Value) => void, failed?: (error: unknown) => void): void {
    work.then(then, failed).catch((error: unknown) => {
      this.suspend();
      this.#reject?.(error);
    });
  }

  #begin(index: number): void {
    const node = this.#plan.nodes[index] as PlannedNode;
    const { emit, journal } = this.#settings;
    this.#scope.work.begin();
    if (journal.isResumed && this.#recall(node, journal.recall(String(index)))) return;
    emit?.(node.id, "start", {});
    let output: Awaitable<JsonValue>;
    try {
      output = this.#worker.perform(node, this.#scope);
    } catch (error) {
      // The call of the node may have ended the run.
      if (!this.#isOver) this.#thrown(node, error);
      return;
    }
    if (output instanceof Promise) this.#await(node, output);
    else if (!this.#isOver) this.#done(node, output);
  }

  #await(node: PlannedNode, work: Promise<JsonValue>): void {
    this.#running += 1;
    // Items of a map occupy slots; the map itself only waits for them.
    if (node.work.kind !== "map") this.#worker.slots.hold(work);
    this.#follow(
      work,
      (output) => {
        this.#running -= 1;
        if (!this.#isOver) this.#done(node, output);
        this.#pump();
      },
      (error: unknown) => this.#rejected(node, error),
    );
  }

  #rejected(node: PlannedNode, error: unknown): void {
    this.#running -= 1;
    if (!this.#isOver) this.#thrown(node, error);
    this.#pump();
  }

  #thrown(node: PlannedNode, error: unknown): void {
    if (this.#settings.port.isEnded) this.stop();
    else this.#failed(node, toNodeError(error));
  }

  #done(node: PlannedNode, output: JsonValue): void {
    const { index, id } = node;
    const { emit, maxInlineBytes, outputs, runId } = this.#settings;
    const budget = Math.min(maxInlineBytes, this.#bytesLeft);
    const left = remainingBytes(output, budget);
    let reference: OutputReference | undefined;
    if (left >= 0) this.#bytesLeft -= budget - left;
    else {
      try {
        reference = outputs.put(runId, id, output);
      } catch (error) {
        return this.#failed(node, toNodeError(error));
      }
      this.#refer(index, reference);
    }
    this.#scope.outputs[index] = output;
    this.#nodesRun += 1;
    const errors = this.#worker.takeItemErrors(index);
    if (errors !== undefined) this.#addItemErrors(id, errors);
    this.#states[index] = isDone;
    this.#note(node);
    if (emit !== undefined) {
      const fields: JsonObject = { output: reference ?? output };
      if (errors !== undefined) fields.errors = errors;
      if (this.#worker.isTruncated(node)) fields.truncated = true;
      emit(id, "done", fields);
    }
    this.#leave(node);
  }

  #refer(index: number, reference: OutputReference): void {
    this.#references ??= new Map();
    this.#references.set(index, reference);
  }

  #addItemErrors(id: string, errors: JsonObject): void {
    for (const [item, error] of Object.entries(errors))
      this.#scope.errors[`${id}[${item.replaceAll(".", "][")}]`] = error;
  }

  /** Restores the result of a node from an earlier process. False if the result is no longer available. */
  #recall(node: PlannedNode, recorded: Recorded | undefined): boolean {
    const { index, id } = node;
    if (recorded === undefined) return false;
    if ("error" in recorded) {
      this.#failed(node, recorded.error, true);
      return true;
    }
    const output = this.#worker.read(recorded);
    if (output === undefined) return false;
    this.#scope.outputs[index] = output;
    if ("reference" in recorded) this.#refer(index, recorded.reference);
    else this.#bytesLeft = Math.max(0, remainingBytes(output, this.#bytesLeft));
    this.#nodesRun += 1;
    if (recorded.errors !== undefined) this.#addItemErrors(id, recorded.errors);
    this.#states[index] = isDone;
    this.#leave(node);
    return true;
  }

  #failed(node: PlannedNode, error: NodeError, isRecalled = false): void {
    const { id, index } = node;
    const { code, message } = error;
    this.#nodesRun += 1;
    this.#scope.errors[id] = error;
    this.#states[index] = hasFailed;
    if (!isRecalled) {
      this.#settings.emit?.(id, "error", { error: message, code });
      this.#note(node);
    }
    if (node.onError !== "abort") return this.#leave(node);
    const detail = { ...error.detail, code };
    this.#finish({ code: "chain_node_error", message: `"${id}" failed: ${message}`, node_id: id, detail });
  }

  /** Settles the edges that leave a node, and those of nodes that are skipped as a result. */
  #leave(node: PlannedNode): void {
    if (this.#plan.isUnconditional) return this.#release(node.index);
    const { edges, isLedTo, nodes } = this.#plan;
    const [states, pending, isFed] = [this.#states, this.#pending, this.#isFed];
    let open: number[] | undefined;
    let from: PlannedNode | undefined = node;
    while (from !== undefined) {
      const state = states[from.index] as number;
      for (const { to, kind } of edges[from.index] as readonly Edge[]) {
        // If a leading edge points to the node, `wait` edges do not make it run.
        const counts = kind !== "wait" || isLedTo[to] === false;
        if (counts && this.#isLive(from, kind, state)) isFed[to] = true;
        const left = (pending[to] as number) - 1;
        pending[to] = left;
        if (left > 0) continue;
        if (isFed[to] === true) this.#addReady(to);
        else {
          states[to] = isSkipped;
          this.#settings.emit?.(nodes[to]?.id ?? "", "skip", {});
          open ??= [];
          open.push(to);
        }
      }
      const next: number | undefined = open?.pop();
      from = next === undefined ? undefined : nodes[next];
    }
  }

  /** Like #leave, for plans in which all edges are always live. */
  #release(from: number): void {
    const pending = this.#pending;
    const edges = this.#plan.edges[from] as readonly Edge[];
    for (let place = 0; place < edges.length; place++) {
      const { to } = edges[place] as Edge;
      const left = (pending[to] as number) - 1;
      pending[to] = left;
      if (left === 0) this.#addReady(to);
    }
  }

  #isLive({ index, onError }: PlannedNode, kind: string, state: number): boolean {
    if (state === isSkipped) return false;
    const isPassed = state === isDone || onError === "skip";
    switch (kind) {
      case "error":
        return state === hasFailed && onError === "node";
      case "true":
      case "false":
        return state === isDone && this.#scope.outputs[index] === (kind === "true");
      default:
        return isPassed;
    }
  }

  #finish(error: ChainRunError | null): void {
    this.#isOver = true;
    this.#worker.close();
    this.#settings.journal.clear();
    this.#outcome = toOutcome({
      plan: this.#plan,
      states: this.#states,
      scope: this.#scope,
      references: this.#references,
      nodesRun: this.#nodesRun,
      error,
    });
    this.#settle?.(this.#outcome);
    this.#onWoundDown?.();
  }
}
