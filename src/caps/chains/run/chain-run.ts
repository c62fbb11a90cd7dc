// One run of a plan. Everything about a node that can be known beforehand is in the plan, so that what is left here is
// counting edges; a node whose call is answered at once costs no promise of its own.
import { remainingBytes } from "../../../host/validation/json-size.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Plan, PlannedNode } from "../plan/plan.ts";
import type { ChainRunError } from "../protocol.ts";
import { toOutput } from "./capability-calls.ts";
import { toNodeError } from "./node-error.ts";
import { NodeWorker } from "./node-worker.ts";
import type { OutputReference } from "./output-store.ts";
import { hasFailed, isDone, isSkipped, type RunOutcome, toOutcome } from "./run-outcome.ts";
import type { Awaitable, NodeError, Recorded } from "./run-port.ts";
import { RunScope } from "./run-scope.ts";
import type { RunSettings } from "./run-settings.ts";

export class ChainRun {
  readonly #settings: RunSettings;
  readonly #plan: Plan;
  readonly #scope: RunScope;
  readonly #worker: NodeWorker;
  /** Edges that have not been settled, by node. */
  readonly #pending: Int32Array;
  readonly #isLed: Uint8Array;
  readonly #isFed: Uint8Array;
  readonly #states: Uint8Array;
  readonly #ready: number[];
  #nextReady = 0;
  #running = 0;
  #bytesLeft: number;
  #references: Map<number, OutputReference> | undefined;
  #nodesRun = 0;
  #outcome: RunOutcome | undefined;
  #isOver = false;
  #settle: ((outcome: RunOutcome) => void) | undefined;

  constructor(settings: RunSettings) {
    const { plan } = settings;
    const count = plan.nodes.length;
    this.#settings = settings;
    this.#plan = plan;
    this.#scope = new RunScope(plan, settings.input);
    this.#worker = new NodeWorker(settings);
    this.#pending = plan.incoming.slice();
    this.#isLed = new Uint8Array(count);
    this.#isFed = new Uint8Array(count);
    this.#states = new Uint8Array(count);
    this.#ready = plan.roots.slice();
    this.#bytesLeft = settings.maxAnswerBytes;
  }

  get nodesRun(): number {
    return this.#nodesRun;
  }

  /** Never settles where the run is stopped or suspended: nobody waits for it then. */
  start(): Awaitable<RunOutcome> {
    this.#pump();
    if (this.#outcome !== undefined) return this.#outcome;
    this.#settings.journal.open();
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Ends it with an error, now, and all that it has begun. */
  abort(error: ChainRunError): void {
    if (!this.#isOver) this.#finish(error);
  }

  /** Gives it up without an answer, as where its request was cancelled. */
  stop(): void {
    if (this.#isOver) return;
    this.#settings.journal.clear();
    this.suspend();
  }

  /** Gives it up here, for another process to go on with. */
  suspend(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#worker.close();
    this.#settings.onGone();
  }

  #pump(): void {
    const { maxParallel } = this.#settings;
    while (this.#nextReady < this.#ready.length && this.#running < maxParallel && !this.#isOver) {
      this.#begin(this.#ready[this.#nextReady++] as number);
    }
    if (this.#running === 0 && !this.#isOver) this.#finish(null);
  }

  #begin(index: number): void {
    const node = this.#plan.nodes[index] as PlannedNode;
    const { emit, journal } = this.#settings;
    const recorded = journal.recall(String(index));
    if (recorded !== undefined) return this.#recall(node, recorded);
    emit?.(node.id, "start", {});
    let direct: Awaitable<JsonObject> | undefined;
    let output: Awaitable<JsonValue> = null;
    try {
      direct = this.#worker.startDirect(node, this.#scope);
      if (direct === undefined) output = this.#worker.perform(node, this.#scope);
    } catch (error) {
      return this.#failed(node, toNodeError(error));
    }
    if (direct instanceof Promise) {
      this.#running += 1;
      direct.then(
        (answer) => {
          this.#running -= 1;
          this.#arrived(node, answer);
          this.#pump();
        },
        (error: unknown) => this.#rejected(node, error),
      );
    } else if (direct !== undefined) this.#arrived(node, direct);
    else if (output instanceof Promise) {
      this.#running += 1;
      output.then(
        (value) => {
          this.#running -= 1;
          if (!this.#isOver) this.#done(node, value);
          this.#pump();
        },
        (error: unknown) => this.#rejected(node, error),
      );
    } else this.#done(node, output);
  }

  #arrived(node: PlannedNode, answer: JsonObject): void {
    if (this.#isOver) return;
    let output: JsonValue;
    try {
      output = toOutput(node.id, answer);
    } catch (error) {
      return this.#failed(node, toNodeError(error));
    }
    this.#done(node, output);
  }

  #rejected(node: PlannedNode, error: unknown): void {
    this.#running -= 1;
    if (this.#isOver) return;
    const fate = this.#settings.port.fateAfter(error);
    if (fate === "stopped") return this.stop();
    if (fate === "suspended") return this.suspend();
    this.#failed(node, toNodeError(error));
    this.#pump();
  }

  #done(node: PlannedNode, output: JsonValue): void {
    const { index, id } = node;
    const { emit, journal, maxInlineBytes, outputs, runId } = this.#settings;
    this.#scope.outputs[index] = output;
    this.#nodesRun += 1;
    const errors = this.#worker.takeItemErrors(index);
    if (errors !== undefined) this.#addItemErrors(id, errors);
    const budget = Math.min(maxInlineBytes, this.#bytesLeft);
    const left = remainingBytes(output, budget);
    let shown = output;
    if (left >= 0) {
      this.#bytesLeft -= budget - left;
      journal.note(String(index), errors === undefined ? { output } : { output, errors });
    } else {
      const reference = outputs.put(runId, id, output);
      this.#refer(index, reference);
      journal.note(String(index), errors === undefined ? { reference } : { reference, errors });
      shown = reference;
    }
    emit?.(id, "done", errors === undefined ? { output: shown } : { output: shown, errors });
    this.#leave(node, isDone);
  }

  #refer(index: number, reference: OutputReference): void {
    this.#references ??= new Map();
    this.#references.set(index, reference);
  }

  #addItemErrors(id: string, errors: JsonObject): void {
    for (const [item, error] of Object.entries(errors)) this.#scope.errors[`${id}[${item}]`] = error;
  }

  /** What this node has come to in an earlier process. */
  #recall(node: PlannedNode, recorded: Recorded): void {
    if ("error" in recorded) return this.#failed(node, recorded.error, true);
    const { index, id } = node;
    this.#nodesRun += 1;
    if (recorded.errors !== undefined) this.#addItemErrors(id, recorded.errors);
    if ("output" in recorded) this.#scope.outputs[index] = recorded.output;
    else {
      const { reference } = recorded;
      this.#refer(index, reference);
      this.#scope.outputs[index] = JSON.parse(
        this.#settings.outputs.get(reference.run_id, reference.node_id) ?? "null",
      ) as JsonValue;
    }
    this.#leave(node, isDone);
  }

  #failed(node: PlannedNode, error: NodeError, isRecalled = false): void {
    const { id, index } = node;
    const { code, message } = error;
    this.#nodesRun += 1;
    this.#scope.errors[id] = error;
    if (!isRecalled) {
      this.#settings.emit?.(id, "error", { error: message, code });
      if (node.onError !== "abort") this.#settings.journal.note(String(index), { error });
    }
    this.#states[index] = hasFailed;
    if (node.onError !== "abort") return this.#leave(node, hasFailed);
    const detail = { ...error.detail, code };
    this.#finish({ code: "chain_node_error", message: `"${id}" failed: ${message}`, node_id: id, detail });
  }

  /** Settles the edges that leave a node, and those of nodes that are passed over by that. */
  #leave(node: PlannedNode, state: number): void {
    let open: number[] | undefined;
    let from: PlannedNode | undefined = node;
    this.#states[node.index] = state;
    while (from !== undefined) {
      const outcome = this.#states[from.index] as number;
      for (const { to, kind } of this.#plan.edges[from.index] ?? []) {
        if (this.#isLive(from, kind, outcome)) (kind === "wait" ? this.#isFed : this.#isLed)[to] = 1;
        const left = (this.#pending[to] as number) - 1;
        this.#pending[to] = left;
        if (left > 0) continue;
        if ((this.#plan.isLedTo[to] === 1 ? this.#isLed : this.#isFed)[to] === 1) this.#ready.push(to);
        else {
          this.#states[to] = isSkipped;
          this.#settings.emit?.(this.#plan.nodes[to]?.id ?? "", "skip", {});
          open ??= [];
          open.push(to);
        }
      }
      const next: number | undefined = open?.pop();
      from = next === undefined ? undefined : this.#plan.nodes[next];
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
  }
}
