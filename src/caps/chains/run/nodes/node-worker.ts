// Runs nodes with their retries and timeouts, and stops all of them when the run ends.
import type { CallOptions } from "../../../../plugin/call-context.ts";
import { A2EError } from "../../../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../../../protocol/json.ts";
import { isTrue, type Scope } from "../../expressions/expression.ts";
import type { Work as ExpressionWork } from "../../expressions/work.ts";
import { chainLimits } from "../../limits.ts";
import type { PlannedNode, Work } from "../../plan/plan.ts";
import { ItemJournal, type RecalledItem, readRecorded } from "../item-journal.ts";
import type { Awaitable, EmitPhase, Recorded } from "../run-port.ts";
import { toInput, withItem } from "../run-scope.ts";
import type { RunSettings } from "../run-settings.ts";
import { Slots } from "../slots.ts";
import { pause, startTime } from "../waiting.ts";
import { callTypes, isTruncated, toOutput, toRequest } from "./capability-calls.ts";
import { runMap } from "./map-node.ts";
import { approvalDenied, isRetryable, noList, tooManyItems, tooManyItemsInAll } from "./node-error.ts";
import { runProgram } from "./proc-node.ts";
import { reducers } from "./reducers.ts";

type WorkOf<Kind extends Work["kind"]> = Extract<Work, { kind: Kind }>;

export class NodeWorker {
  readonly #settings: RunSettings;
  readonly #work: ExpressionWork;
  #slots: Slots | undefined;
  #stopped: AbortController | undefined;
  #isClosed = false;
  /** By place: the index of the map's node, then the indexes of items. */
  #itemErrors: Map<string, JsonValue> | undefined;
  #itemCount = 0;
  /** The keys of nodes whose output, or an item's output, was truncated. */
  #truncated: Set<string> | undefined;
  /** The prefix of the idempotency keys of all calls of the run. */
  readonly #keyPrefix: string;

  constructor(settings: RunSettings, work: ExpressionWork) {
    this.#settings = settings;
    this.#work = work;
    this.#keyPrefix = `${settings.runId}:`;
  }

  /** Created for the first node that does not end at once; most runs have none. */
  get slots(): Slots {
    this.#slots ??= new Slots(this.#settings.maxParallel, this.#work);
    return this.#slots;
  }

  /** Whether as many nodes run as allowed. */
  get isFull(): boolean {
    return this.#slots?.isFull === true;
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
    this.#slots?.close(over());
  }

  /** The recorded output of a node; undefined if a large output is no longer stored. */
  read(recorded: Recorded): JsonValue | undefined {
    return readRecorded(recorded, this.#settings.outputs);
  }

  perform(node: PlannedNode, scope: Scope): Awaitable<JsonValue> {
    return this.#attempts(node, scope, this.#keyPrefix + node.key, undefined, undefined);
  }

  #attempts(
    node: PlannedNode,
    scope: Scope,
    key: string,
    place: string | undefined,
    signal: AbortSignal | undefined,
  ): Awaitable<JsonValue> {
    if (node.retries === 0) return this.#attempt(node, scope, key, place, signal);
    return this.#retrying(node, scope, key, place, signal);
  }

  async #retrying(
    node: PlannedNode,
    scope: Scope,
    key: string,
    place: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<JsonValue> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(node, scope, key, place, signal);
      } catch (error) {
        if (attempt >= node.retries || !isRetryable(error) || this.#isClosed) throw error;
        const delayMs = Math.min(chainLimits.maxRetryDelayMs, node.retryDelayMs * 2 ** attempt);
        // Randomised, so that many nodes that failed together do not retry together.
        const { port } = this.#settings;
        await pause(port, delayMs * (0.75 + port.random() / 2), this.#signalWith(signal));
        scope.work.begin();
      }
    }
  }

  #attempt(
    node: PlannedNode,
    scope: Scope,
    key: string,
    place: string | undefined,
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
        return this.#approve(node, work, scope, signal);
      case "map":
        return this.#map(node, work, scope, key, place ?? String(node.index), signal);
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
        const isSkill = work.kind === "skill" || (work.kind === "action" && !this.#settings.port.hasTool(work.name));
        const args = toInput(work.input, scope);
        return this.#call(node, isSkill ? "skill" : "tool", work.name, args, key, signal);
      }
    }
  }

  #call(
    { id, timeoutMs }: PlannedNode,
    kind: "tool" | "skill",
    name: string,
    args: JsonObject,
    key: string,
    signal: AbortSignal | undefined,
  ): Awaitable<JsonValue> {
    const { emit, port } = this.#settings;
    const data = kind === "tool" && signal?.aborted !== true ? port.runPure(name, args) : undefined;
    if (data !== undefined) return data;
    const options: CallOptions = { id: key };
    if (signal !== undefined) options.signal = signal;
    if (timeoutMs > 0) options.timeoutMs = timeoutMs;
    if (emit !== undefined) options.onEvent = createEventListener(emit, id);
    // Without a timeout of its own, a node has the chain's timeout and not the default of a call.
    options.timeoutMs ??= Number.MAX_SAFE_INTEGER;
    const answer = port.call(callTypes[kind], toRequest(kind, name, args, timeoutMs, emit !== undefined), options);
    return answer instanceof Promise ? this.#takeOutputLater(id, key, answer) : this.#takeOutput(id, key, answer);
  }

  #takeOutput(id: string, key: string, answer: JsonObject): JsonValue {
    if (isTruncated(answer)) this.#addTruncated(key);
    return toOutput(id, answer);
  }

  /** Separate from `#call`, which would otherwise allocate the closure's variables with every call. */
  #takeOutputLater(id: string, key: string, answer: Promise<JsonObject>): Promise<JsonValue> {
    return answer.then((settled) => this.#takeOutput(id, key, settled));
  }

  #addTruncated(key: string): void {
    // Only events report it.
    if (this.#settings.emit === undefined) return;
    this.#truncated ??= new Set();
    // Without the item's index: the key of a node contains no colon.
    this.#truncated.add(key.slice(this.#keyPrefix.length).split(":", 1)[0] as string);
  }

  /** Whether the output of the node, or of one of its items, was truncated. */
  isTruncated({ key }: PlannedNode): boolean {
    return this.#truncated?.has(key) === true;
  }

  #gather({ sources, input }: WorkOf<"gather">, scope: Scope): JsonValue {
    if (input.mapped.length > 0 || sources.length === 0) return toInput(input, scope);
    return this.#outputsOf(sources, scope);
  }

  /** Outputs of nodes that ran, in the order in which they are named; skipped nodes are left out. */
  #outputsOf(sources: readonly number[], scope: Scope): JsonValue[] {
    const { nodes } = this.#settings.plan;
    return sources.flatMap((index) => {
      const node = nodes[index] as PlannedNode;
      // The output of a branch is only its decision.
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
    return this.#call(node, "tool", work.name, args, key, signal);
  }

  #itemsToReduce(nodeId: string, { items, sources }: WorkOf<"reduce">, scope: Scope): JsonValue[] {
    if (items !== undefined) {
      const list = items.evaluate(scope);
      if (!Array.isArray(list)) throw noList(nodeId, list);
      return list;
    }
    const outputs = this.#outputsOf(sources, scope);
    // After a single map or gather, its list; after several nodes, the list of their outputs.
    return outputs.length === 1 && Array.isArray(outputs[0]) ? outputs[0] : outputs;
  }

  async #approve(
    { id, timeoutMs }: PlannedNode,
    work: WorkOf<"approval">,
    scope: Scope,
    signal: AbortSignal | undefined,
  ): Promise<JsonValue> {
    const data = toInput(work.input, scope);
    const answer = await this.#settings.port.ask(
      { node_id: id, message: work.message, data },
      // People may take as long as the chain may, unless the node has a timeout.
      { signal: this.#signalWith(signal), timeoutMs: timeoutMs > 0 ? timeoutMs : Number.MAX_SAFE_INTEGER },
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
    const list = this.#takeItems(node.id, items.evaluate(scope));
    const time = startTime(this.#settings.port, node.id, node.timeoutMs, outer);
    const journal = new ItemJournal(this.#settings, place);
    const run = (item: JsonValue, index: number): Awaitable<JsonValue> => {
      const recorded = journal.recall(index);
      if (recorded !== undefined) {
        scope.work.begin();
        return this.#recalled(recorded, `${place}.${index}`);
      }
      const perform = () => {
        scope.work.begin();
        return this.#attempts(each, withItem(scope, item), `${key}:${index}`, `${place}.${index}`, time.signal);
      };
      const output = each.work.kind === "map" ? perform() : this.slots.run(perform, time.signal);
      const note = (value: JsonValue) => journal.note(index, value, this.#errorsWithin(`${place}.${index}`, each));
      return output instanceof Promise ? output.then(note) : note(output);
    };
    const conclude = ({ outputs, errors }: Awaited<ReturnType<typeof runMap>>): JsonValue => {
      for (const [index, error] of Object.entries(errors)) this.#addItemError(`${place}.${index}`, error);
      return outputs;
    };
    let isWaiting = false;
    try {
      const outcome = runMap({
        nodeId: node.id,
        items: list,
        maxParallel: Math.min(maxParallel || this.#settings.maxParallel, this.#settings.maxParallel),
        isTolerant: node.onError === "skip" || each.onError === "skip",
        signal: time.signal,
        work: scope.work,
        run,
        isCut: () => this.#isClosed || this.#settings.port.isEnded,
        onFailed: (index, error) => journal.noteFailure(index, error),
      });
      isWaiting = outcome instanceof Promise;
      return outcome instanceof Promise ? outcome.then(conclude).finally(time.end) : conclude(outcome);
    } finally {
      if (!isWaiting) time.end();
    }
  }

  #takeItems(nodeId: string, list: JsonValue): JsonValue[] {
    const { maxItems, maxRunItems } = this.#settings;
    if (!Array.isArray(list)) throw noList(nodeId, list);
    if (list.length > maxItems) throw tooManyItems(nodeId, list.length, maxItems);
    this.#itemCount += list.length;
    if (this.#itemCount > maxRunItems) throw tooManyItemsInAll(nodeId, maxRunItems);
    return list;
  }

  #recalled({ output, errors = {} }: RecalledItem, place: string): JsonValue {
    for (const [item, error] of Object.entries(errors)) this.#addItemError(`${place}.${item}`, error);
    return output;
  }

  #addItemError(place: string, error: JsonValue): void {
    this.#itemErrors ??= new Map();
    this.#itemErrors.set(place, error);
  }

  /** Errors of items of a map, and of nested maps, if the map continued. The keys are indexes: `2`, `2.0`. */
  takeItemErrors(index: number): JsonObject | undefined {
    return this.#itemErrors === undefined ? undefined : this.#errorsBelow(this.#itemErrors, `${index}.`);
  }

  /** The same for one item; only a nested map can have such errors. */
  #errorsWithin(place: string, each: PlannedNode): JsonObject | undefined {
    if (this.#itemErrors === undefined || each.work.kind !== "map") return undefined;
    return this.#errorsBelow(this.#itemErrors, `${place}.`);
  }

  #errorsBelow(all: ReadonlyMap<string, JsonValue>, prefix: string): JsonObject | undefined {
    const below = [...all].filter(([place]) => place.startsWith(prefix));
    if (below.length === 0) return undefined;
    return Object.fromEntries(below.map(([place, error]) => [place.slice(prefix.length), error]));
  }
}

function createEventListener(emit: EmitPhase, nodeId: string): NonNullable<CallOptions["onEvent"]> {
  return (event) => emit(nodeId, "event", { kind: event.kind, event: event.data });
}

function over(): A2EError {
  return new A2EError("cancelled", "the chain has ended");
}
