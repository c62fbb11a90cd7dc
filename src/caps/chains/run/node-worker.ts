// Does what nodes are there for, with their retries and their time, and stops all of it when the run is over.
import type { CallOptions } from "../../../host/call-context.ts";
import { isLargerThan } from "../../../host/validation/json-size.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { isTrue, type Scope } from "../expressions/expression.ts";
import { chainLimits } from "../limits.ts";
import type { PlannedNode, Work } from "../plan/plan.ts";
import { startCall, toOutput } from "./capability-calls.ts";
import { runMap } from "./map-node.ts";
import { approvalDenied, isRetryable, noList, tooManyItems } from "./node-error.ts";
import { runProgram } from "./proc-node.ts";
import { reducers } from "./reducers.ts";
import type { Awaitable } from "./run-port.ts";
import { type RunScope, toInput, withItem } from "./run-scope.ts";
import type { RunSettings } from "./run-settings.ts";
import { pause, startTime } from "./waiting.ts";

type WorkOf<Kind extends Work["kind"]> = Extract<Work, { kind: Kind }>;

/** The longest pause between two attempts. */
const maxRetryDelayMs = 60_000;

export class NodeWorker {
  readonly #settings: RunSettings;
  #stopped: AbortController | undefined;
  #isClosed = false;
  #itemErrors: Map<number, JsonObject> | undefined;

  constructor(settings: RunSettings) {
    this.#settings = settings;
  }

  /** Aborted when the run is over. */
  get signal(): AbortSignal {
    this.#stopped ??= new AbortController();
    if (this.#isClosed) this.#stopped.abort(over());
    return this.#stopped.signal;
  }

  #signalWith(other: AbortSignal | undefined): AbortSignal {
    return other === undefined ? this.signal : AbortSignal.any([other, this.signal]);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopped?.abort(over());
  }

  /** What items of a map failed with, where the map went on. */
  takeItemErrors(index: number): JsonObject | undefined {
    return this.#itemErrors?.get(index);
  }

  /** The usual case, a call and nothing else: its answer as it comes. Undefined where the node takes more than that. */
  startDirect(node: PlannedNode, scope: RunScope): Awaitable<JsonObject> | undefined {
    const { work } = node;
    if (node.retries > 0) return undefined;
    if (work.kind !== "tool" && work.kind !== "skill" && work.kind !== "action") return undefined;
    return this.#startCall(node, work, scope, `${this.#settings.runId}:${node.key}`, undefined);
  }

  perform(node: PlannedNode, scope: Scope): Awaitable<JsonValue> {
    return this.#attempts(node, scope, `${this.#settings.runId}:${node.key}`, String(node.index), undefined);
  }

  #attempts(
    node: PlannedNode,
    scope: Scope,
    key: string,
    place: string,
    signal: AbortSignal | undefined,
  ): Awaitable<JsonValue> {
    if (node.retries === 0) return this.#attempt(node, scope, key, place, signal);
    return this.#retrying(node, scope, key, place, signal);
  }

  async #retrying(
    node: PlannedNode,
    scope: Scope,
    key: string,
    place: string,
    signal: AbortSignal | undefined,
  ): Promise<JsonValue> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(node, scope, key, place, signal);
      } catch (error) {
        if (attempt >= node.retries || !isRetryable(error) || this.#isClosed) throw error;
        const delayMs = Math.min(maxRetryDelayMs, node.retryDelayMs * 2 ** attempt);
        // Spread, so that many that failed together do not all come back together.
        await pause(delayMs * (0.75 + this.#settings.port.random() / 2), this.#signalWith(signal));
      }
    }
  }

  #attempt(
    node: PlannedNode,
    scope: Scope,
    key: string,
    place: string,
    signal: AbortSignal | undefined,
  ): Awaitable<JsonValue> {
    const { work } = node;
    switch (work.kind) {
      case "branch":
        return isTrue(work.condition.evaluate(scope));
      case "gather":
        return this.#gather(work, scope);
      case "reduce":
        return this.#reduce(node, work, scope, key, signal);
      case "approval":
        return this.#approve(node, work, scope);
      case "map":
        return this.#map(node, work, scope, key, place, signal);
      case "proc":
        return runProgram(this.#settings.port, {
          name: work.name,
          input: toInput(work.input, scope),
          timeoutMs: node.timeoutMs,
          key,
          signal: this.#signalWith(signal),
          maxBytes: chainLimits.maxProcBytes,
        });
      default: {
        const answer = this.#startCall(node, work, scope, key, signal);
        if (!(answer instanceof Promise)) return toOutput(node.id, answer);
        return answer.then((result) => toOutput(node.id, result));
      }
    }
  }

  #startCall(
    { id, timeoutMs }: PlannedNode,
    { kind, name, input }: WorkOf<"tool" | "skill" | "proc" | "action">,
    scope: Scope,
    key: string,
    signal: AbortSignal | undefined,
  ): Awaitable<JsonObject> {
    const { emit, port } = this.#settings;
    const isSkill = kind === "skill" || (kind === "action" && !port.hasTool(name));
    const options: CallOptions = { id: key };
    if (signal !== undefined) options.signal = signal;
    if (emit !== undefined) options.onEvent = (event) => emit(id, "event", { kind: event.kind, event: event.data });
    return startCall(port, isSkill ? "skill" : "tool", name, toInput(input, scope), timeoutMs, options);
  }

  #gather({ sources, input }: WorkOf<"gather">, scope: Scope): JsonValue {
    if (input.mapped.length > 0 || sources.length === 0) return toInput(input, scope);
    return this.#outputsOf(sources, scope);
  }

  /** Outputs of nodes that ran, in the order in which they are named; those passed over are left out. */
  #outputsOf(sources: readonly number[], scope: Scope): JsonValue[] {
    const { nodes } = this.#settings.plan;
    return sources.flatMap((index) => {
      const node = nodes[index] as PlannedNode;
      // A branch has decided and has nothing to give.
      const output = node.work.kind === "branch" ? undefined : scope.get(node.id);
      return output === undefined ? [] : [output];
    });
  }

  #reduce(
    node: PlannedNode,
    work: WorkOf<"reduce">,
    scope: Scope,
    key: string,
    signal: AbortSignal | undefined,
  ): Awaitable<JsonValue> {
    const items = this.#itemsToReduce(node.id, work, scope);
    const reduce = Object.hasOwn(reducers, work.name) ? reducers[work.name] : undefined;
    if (reduce !== undefined) return reduce(items);
    const args = { ...toInput(work.input, scope), items };
    const options = { id: key, ...(signal === undefined ? {} : { signal }) };
    const answer = startCall(this.#settings.port, "tool", work.name, args, node.timeoutMs, options);
    if (!(answer instanceof Promise)) return toOutput(node.id, answer);
    return answer.then((result) => toOutput(node.id, result));
  }

  #itemsToReduce(nodeId: string, { items, sources }: WorkOf<"reduce">, scope: Scope): JsonValue[] {
    if (items !== undefined) {
      const list = items.evaluate(scope);
      if (!Array.isArray(list)) throw noList(nodeId, list);
      return list;
    }
    const outputs = this.#outputsOf(sources, scope);
    // After a map or a gather, what it has made; after several nodes, what each has.
    return outputs.length === 1 && Array.isArray(outputs[0]) ? outputs[0] : outputs;
  }

  async #approve({ id, timeoutMs }: PlannedNode, work: WorkOf<"approval">, scope: Scope): Promise<JsonValue> {
    const data = toInput(work.input, scope);
    const answer = await this.#settings.port.ask(
      { node_id: id, message: work.message, data },
      { signal: this.signal, ...(timeoutMs > 0 ? { timeoutMs } : {}) },
    );
    if (!answer.approved) throw approvalDenied(id, answer.comment);
    return { approved: true, comment: answer.comment, data: answer.data ?? data };
  }

  #map(
    node: PlannedNode,
    { items, each, maxParallel }: WorkOf<"map">,
    scope: Scope,
    key: string,
    place: string,
    outer: AbortSignal | undefined,
  ): Awaitable<JsonValue> {
    const { maxItems } = this.#settings;
    const list = items.evaluate(scope);
    if (!Array.isArray(list)) throw noList(node.id, list);
    if (list.length > maxItems) throw tooManyItems(node.id, list.length, maxItems);
    const time = startTime(node.id, node.timeoutMs, outer);
    const run = (item: JsonValue, index: number): Awaitable<JsonValue> => {
      const itemPlace = `${place}.${index}`;
      const recalled = this.#recallItem(itemPlace);
      if (recalled !== undefined) return recalled;
      const output = this.#attempts(each, withItem(scope, item), `${key}:${index}`, itemPlace, time.signal);
      const note = (value: JsonValue) => this.#noteItem(itemPlace, `${node.id}[${index}]`, value);
      return output instanceof Promise ? output.then(note) : note(output);
    };
    const limit = Math.min(maxParallel || this.#settings.maxParallel, this.#settings.maxParallel);
    const isTolerant = node.onError === "skip" || each.onError === "skip";
    const outcome = runMap({ nodeId: node.id, items: list, maxParallel: limit, isTolerant, signal: time.signal, run });
    const conclude = ({ outputs, errors }: Awaited<typeof outcome>): JsonValue => {
      if (node.index >= 0 && Object.keys(errors).length > 0) {
        this.#itemErrors ??= new Map();
        this.#itemErrors.set(node.index, errors);
      }
      return outputs;
    };
    if (outcome instanceof Promise) return outcome.then(conclude).finally(time.end);
    time.end();
    return conclude(outcome);
  }

  #noteItem(place: string, id: string, output: JsonValue): JsonValue {
    const { journal, maxInlineBytes, outputs, runId } = this.#settings;
    const isLarge = isLargerThan(output, maxInlineBytes);
    journal.note(place, isLarge ? { reference: outputs.put(runId, id, output) } : { output });
    return output;
  }

  #recallItem(place: string): JsonValue | undefined {
    const recorded = this.#settings.journal.recall(place);
    if (recorded === undefined || "error" in recorded) return undefined;
    if ("output" in recorded) return recorded.output;
    const text = this.#settings.outputs.get(recorded.reference.run_id, recorded.reference.node_id);
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
  }
}

function over(): A2EError {
  return new A2EError("cancelled", "the chain has ended");
}
