// Connects a run to its session: through the request that waits for it, or through the session itself if there is none.
import type { CallContext, CallOptions } from "../../../plugin/call-context.ts";
import type { SessionContext } from "../../../plugin/plugin.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { chains } from "../protocol.ts";
import { callTypes } from "./nodes/capability-calls.ts";
import type { Approval, ApprovalRequest, Awaitable, RunPort } from "./run-port.ts";
import { startTimer } from "./waiting.ts";

export class SessionPort implements RunPort {
  readonly #context: SessionContext;
  readonly #chainId: string;
  readonly #runId: string;
  readonly #request: CallContext | undefined;
  // These getters of the request create a function each time: read once, since a run may make thousands of calls.
  readonly #callNow: CallContext["callNow"] | undefined;
  readonly #inlineCall: CallContext["inlineCall"] | undefined;
  #over: AbortController | undefined;

  /** Without a request, work that the run has started is stopped by a signal of its own. */
  constructor(context: SessionContext, chainId: string, runId: string, request?: CallContext) {
    this.#context = context;
    this.#chainId = chainId;
    this.#runId = runId;
    this.#request = request;
    this.#callNow = request?.callNow;
    this.#inlineCall = request?.inlineCall;
    if (request === undefined) this.#over = new AbortController();
  }

  /** A session that closes suspends its runs before it cancels anything. */
  get isEnded(): boolean {
    return this.#request?.isEnded ?? false;
  }

  call(type: string, request: JsonObject, options: CallOptions): Awaitable<JsonObject> {
    // Ends with its request, so it needs no signal.
    if (this.#callNow !== undefined) return this.#callNow(type, request, options);
    const over = (this.#over as AbortController).signal;
    const signal = options.signal === undefined ? over : AbortSignal.any([options.signal, over]);
    return this.#context.call(type, request, { ...options, signal });
  }

  runPure(name: string, args: JsonObject): JsonValue | undefined {
    const request = this.#request;
    const { tools } = this.#context;
    const tool = tools.get(name);
    if (request === undefined || tool?.isPure !== true) return undefined;
    return this.#inlineCall?.(callTypes.tool, () => tools.runPure(tool, args, request));
  }

  callBeside(type: string, request: JsonObject, id?: string): Promise<JsonObject> {
    return this.#context.call(type, request, id === undefined ? {} : { id });
  }

  ask(request: ApprovalRequest, options: { signal: AbortSignal; timeoutMs?: number }): Promise<Approval> {
    const ids = { chain_id: this.#chainId, run_id: this.#runId };
    return this.#context.ask(chains.asks.approve, { ...ids, ...request }, options);
  }

  hasTool(name: string): boolean {
    return this.#context.tools.get(name) !== undefined;
  }

  now(): number {
    return this.#context.clock.now();
  }

  random(): number {
    return this.#context.random();
  }

  startTimer(ms: number, callback: () => void): () => void {
    return startTimer(this.#context, ms, callback);
  }

  /** The run is over: work that it has started ends as well. */
  close(): void {
    this.#over?.abort();
  }
}
