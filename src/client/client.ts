// The agent's side: connects, shakes hands, calls, listens. Runs wherever its transport does, browsers included.
import type { z } from "zod";
import { createMessage } from "../protocol/codec.ts";
import { type acceptedCap, cancel, gap, handshake, ping, withdrawn } from "../protocol/core.ts";
import { canonicalCapability, protocolCapabilities } from "../protocol/dialects.ts";
import { type Clock, type IdSource, type Message, nextProcessId, systemClock } from "../protocol/envelope.ts";
import { A2EError } from "../protocol/errors.ts";
import { isJsonObject, type JsonObject } from "../protocol/json.ts";
import type { Call, Capability, Push, RequestInputOf, ResultOf } from "../protocol/table/capability.ts";
import type { CheckedAnswer } from "../protocol/table/checked-answer.ts";
import type { Transport } from "../protocol/transport.ts";
import { type CapabilityApi, createApi } from "./api.ts";
import { type AskHandler, AskHandlers } from "./ask-handlers.ts";
import type { AuditWitness } from "./audit-witness.ts";
import { type ClientCallFn, type ClientInterceptor, composeClientInterceptors } from "./client-interceptors.ts";
import { A2EConnectionError } from "./errors.ts";
import { guarded } from "./guarded.ts";
import { PendingCall } from "./pending-call.ts";
import { abortError, PendingCalls, steadyClock } from "./pending-calls.ts";
import { type PushHandler, PushHandlers } from "./push-handlers.ts";
import { findTooLong, takeEvent, toClientError } from "./received.ts";
import { type RetryOptions, wait, withRetry } from "./retry.ts";
import type { RpcOptions } from "./rpc.ts";

export interface ClientOptions {
  transport: Transport;
  agentId?: string;
  /** Capabilities to ask for; by default all of the protocol, of which the host grants those it has. */
  capabilities?: readonly string[];
  authToken?: string;
  /** How long a call waits for its answer, unless the call sets its own timeout; 0 means no timeout. */
  timeoutMs?: number;
  /**
   * Retries calls that failed with a retryable error. Off by default, since the client cannot tell whether a retry is
   * safe.
   */
  retry?: RetryOptions;
  /**
   * Adds handlers for questions of the host before the first question can arrive, for example for an agent that
   * resumes a session in which a question waits: `asks: (onAsk) => onAsk(chains.asks.approve, …)`. `client.onAsk` adds
   * others later.
   */
  asks?(onAsk: OnAsk): void;
  /** Compares the audit log of the host with the checkpoint of the last visit: `createAuditWitness({ … })`. */
  witness?: AuditWitness;
  /** Wrap every call; the first interceptor is the outermost. */
  interceptors?: readonly ClientInterceptor[];
  clock?: Clock;
  nextId?: IdSource;
}

/** Returns a function that removes the handler. */
export type OnAsk = <C extends Call>(ask: C, handler: AskHandler<C>) => () => void;

export type AcceptedCap = z.output<typeof acceptedCap>;

const defaultTimeoutMs = 60_000;

export class A2EClient {
  readonly agentId: string;
  readonly #transport: Transport;
  readonly #options: ClientOptions;
  readonly #clock: Clock;
  readonly #nextId: IdSource;
  readonly #timeoutMs: number;
  readonly #pending: PendingCalls;
  readonly #intercept: ClientCallFn | undefined;
  /** Made when first needed: a process may have thousands of clients, and most of them only call. */
  #apis: Map<Capability, unknown> | undefined;
  #pushHandlers: PushHandlers | undefined;
  #asks: AskHandlers | undefined;
  #ended: AbortController | undefined;
  #state: "new" | "open" | "closed" = "new";
  #isConnecting = true;
  #closeReason: Error | undefined;
  #sessionId = "";
  #acceptedCaps: readonly AcceptedCap[] = [];
  #maxParallel = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#transport = options.transport;
    this.#clock = options.clock ?? systemClock;
    this.#nextId = options.nextId ?? nextProcessId;
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#pending = new PendingCalls(options.clock ?? steadyClock, (call) => this.#cancelOnHost(call.message.id));
    this.#intercept = composeClientInterceptors(
      options.interceptors,
      ({ call, request, options: given }) => this.#send(call, request, given) as Promise<JsonObject>,
    );
    this.agentId = options.agentId ?? `agent-${shortened(this.#nextId())}`;
    options.asks?.((ask, handler) => this.onAsk(ask, handler));
  }

  /** Opens the transport and shakes hands. */
  static async connect(options: ClientOptions): Promise<A2EClient> {
    const client = new A2EClient(options);
    await client.connect();
    return client;
  }

  async connect(): Promise<void> {
    if (this.#state !== "new")
      throw new A2EConnectionError("not_connected", "this client was connected before; create a new client");
    this.#state = "open";
    try {
      await this.#transport.open({
        receive: (message) => this.#receive(message),
        answer: (answer) => this.#receiveAnswer(answer),
        restored: () => this.#repeatPending(),
        closed: (reason) => this.#lost(reason),
      });
      await this.handshake();
    } catch (error) {
      this.#lost(error as Error);
      await this.#transport.close();
      throw error;
    }
    this.#isConnecting = false;
    this.#asks?.takeUnanswered();
  }

  get isConnected(): boolean {
    return this.#state === "open";
  }

  /** A secret: any client that has it can act in this session. */
  get sessionId(): string {
    return this.#sessionId;
  }

  /** How many calls of this session the host runs at once; further calls wait on the host. */
  get maxParallel(): number {
    return this.#maxParallel;
  }

  /** Capabilities the host granted. */
  capabilities(): readonly AcceptedCap[] {
    return this.#acceptedCaps.filter((cap) => cap.enabled);
  }

  /** The requested capabilities, each with the reason if the host refused it. */
  acceptedCaps(): readonly AcceptedCap[] {
    return this.#acceptedCaps;
  }

  has(capability: string): boolean {
    const name = canonicalCapability(capability);
    return this.#acceptedCaps.some((cap) => cap.enabled && canonicalCapability(cap.capability) === name);
  }

  async handshake(): Promise<void> {
    const { capabilities = protocolCapabilities, authToken = "", witness } = this.#options;
    const audit_size = await witness?.heldSize();
    const request = { agent_id: this.agentId, agent_caps: [...capabilities], auth_token: authToken };
    const answer = await this.#callOnce(handshake, audit_size === undefined ? request : { ...request, audit_size }, {});
    if (!answer.ok) throw new A2EConnectionError("handshake_failed", `Handshake failed: ${answer.reason}`);
    await witness?.accept(answer.audit);
    this.#sessionId = answer.session_id;
    this.#acceptedCaps = answer.accepted_caps;
    this.#maxParallel = answer.max_parallel;
  }

  /** Sends a request and resolves with its result; an error answer is thrown as A2EClientError. */
  rpc<C extends Call>(call: C, request: RequestInputOf<C>, options: RpcOptions = {}): Promise<ResultOf<C>> {
    const retry = options.retry ?? this.#options.retry;
    return retry === undefined
      ? this.#callOnce(call, request, options)
      : this.#callWithRetry(call, request, options, retry);
  }

  /** Apart from `rpc`, which every call would pay for its variables otherwise. */
  #callWithRetry<C extends Call>(
    call: C,
    request: RequestInputOf<C>,
    options: RpcOptions,
    retry: RetryOptions,
  ): Promise<ResultOf<C>> {
    // Under the same id, a second attempt would get the answer of the first.
    const { id: _, ...later } = options;
    let next = options;
    const attempt = () => {
      const now = next;
      next = later;
      return this.#callOnce(call, request, now);
    };
    return withRetry(attempt, retry, (delayMs) => this.#pause(delayMs, options.signal));
  }

  /** Throws before the delay is over if the caller aborts or the client closes. */
  async #pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const closed = this.#endedSignal;
    try {
      await wait(delayMs, signal === undefined ? closed : AbortSignal.any([closed, signal]));
    } catch {
      throw signal?.aborted === true ? abortError(signal) : this.#closedError();
    }
  }

  #callOnce<C extends Call>(call: C, request: RequestInputOf<C>, options: RpcOptions): Promise<ResultOf<C>> {
    return this.#intercept === undefined
      ? this.#send(call, request, options)
      : (this.#callIntercepted(this.#intercept, call, request, options) as Promise<ResultOf<C>>);
  }

  /** Async, so that an interceptor that throws rejects. */
  async #callIntercepted(intercept: ClientCallFn, call: Call, request: object, options: RpcOptions): Promise<unknown> {
    return intercept({ call, request, options });
  }

  #send<C extends Call>(call: C, request: object, options: RpcOptions): Promise<ResultOf<C>> {
    let pending: PendingCall;
    try {
      pending = this.#prepare(call, request, options);
      this.#pending.add(pending);
    } catch (problem) {
      return Promise.reject(problem);
    }
    try {
      this.#transport.send(pending.message);
      this.#pending.watch(pending);
    } catch (cause) {
      this.#pending.remove(pending);
      pending.reject(toSendError(cause as Error));
    }
    return pending.toPromise() as Promise<ResultOf<C>>;
  }

  #prepare(call: Call, request: object, options: RpcOptions): PendingCall {
    if (this.#state !== "open") throw this.#closedError();
    if (options.signal?.aborted === true) throw abortError(options.signal);
    if (options.id !== undefined) this.#checkId(options.id);
    const wantsEvents = options.onEvent !== undefined && "streaming" in call.request.shape;
    const fields = wantsEvents ? { streaming: true, ...request } : request;
    const message = createMessage(call.type, options.id ?? this.#nextId(), this.#clock.now(), fields);
    if (options.traceparent !== undefined) message.traceparent = options.traceparent;
    return new PendingCall(message, call, options, options.timeoutMs ?? this.#timeoutMs);
  }

  #checkId(id: string): void {
    // The host would assign another id, and answer under that.
    if (id === "") throw new TypeError("the id of a call must not be empty");
    if (this.#pending.get(id) === undefined) return;
    const problem = `a call with the id ${JSON.stringify(id)} is still waiting for its answer`;
    throw new A2EConnectionError("duplicate_id", problem);
  }

  /** Asks the host to cancel, and ignores the answer: for the caller, the call has ended either way. */
  #cancelOnHost(call_id: string): void {
    if (this.#state !== "open") return;
    try {
      this.#transport.send(createMessage(cancel.type, this.#nextId(), this.#clock.now(), { call_id }));
    } catch {
      // The link is gone, and the call with it.
    }
  }

  #receiveAnswer(answer: CheckedAnswer): void {
    const pending = this.#pending.get(answer.req_id);
    if (pending?.call !== answer.call) return this.#receive(answer.toMessage(this.#nextId()));
    this.#pending.remove(pending);
    pending.resolve(answer.result);
  }

  #receive(message: Message): void {
    // A transport passes on any JSON that the peer sent.
    if (!isJsonObject(message) || typeof message.type !== "string") return;
    const { req_id, type } = message;
    const pending = typeof req_id === "string" ? this.#pending.get(req_id) : undefined;
    if (pending === undefined) return this.#receivePush(message);
    if (type !== pending.call.responseType && type.endsWith("/event")) return receiveEvent(pending, message);
    this.#pending.remove(pending);
    if (type === "error") return pending.reject(toClientError(message, pending));
    const result = pending.call.parseResult(message);
    if (!(result instanceof A2EError)) return pending.resolve(result);
    const problem = `the answer to ${pending.call.type} has the wrong shape: ${result.message}`;
    pending.reject(new A2EConnectionError("invalid_answer", problem));
  }

  #receivePush(message: Message): void {
    if (message.type === gap.type) this.#repeatPending();
    if (message.type === withdrawn.type) this.#asks?.withdraw(message);
    if (message.type === "error") this.#rejectTooLong(message);
    if (message.req_id === undefined ? this.#askHandlers.take(message) : this.#asks?.isRefusedRepetition(message))
      return;
    this.#pushHandlers?.tell(message);
  }

  #rejectTooLong(message: Message): void {
    for (const pending of findTooLong(message, this.#pending.all())) {
      this.#pending.remove(pending);
      pending.reject(toClientError(message, pending));
    }
  }

  /**
   * Calls back for each message of this type that does not answer a call; `*` stands for all types. Returns a function
   * that removes the handler.
   */
  onPush(push: Push | string, handler: PushHandler): () => void {
    this.#pushHandlers ??= new PushHandlers();
    return this.#pushHandlers.add(typeof push === "string" ? push : push.type, handler);
  }

  /**
   * Answers questions of the host, one of the `asks` of a table. An error thrown by the handler is sent as an error
   * answer.
   */
  onAsk<C extends Call>(ask: C, handler: AskHandler<C>): () => void {
    return this.#askHandlers.add(ask, handler);
  }

  get #askHandlers(): AskHandlers {
    this.#asks ??= new AskHandlers({
      clock: this.#clock,
      nextId: this.#nextId,
      signal: this.#endedSignal,
      isConnecting: () => this.#isConnecting,
      send: (message) => this.#transport.send(message),
    });
    return this.#asks;
  }

  /** Aborted when the client closes. */
  get #endedSignal(): AbortSignal {
    this.#ended ??= new AbortController();
    if (this.#state === "closed") this.#ended.abort();
    return this.#ended.signal;
  }

  /** The typed calls of a table: `client.use(memory).store({ … })`. */
  use<C extends Capability>(capability: C): CapabilityApi<C> {
    this.#apis ??= new Map();
    const known = this.#apis.get(capability);
    if (known !== undefined) return known as CapabilityApi<C>;
    const api = createApi(this, capability);
    this.#apis.set(capability, api);
    return api;
  }

  /** Milliseconds to the host and back. */
  async ping(options: RpcOptions = {}): Promise<number> {
    const startedAt = performance.now();
    await this.#callOnce(ping, {}, options);
    return performance.now() - startedAt;
  }

  /**
   * A link was restored after a cut: every request without an answer is sent again under its id, and the host runs
   * none twice. The last answers to its questions are sent again as well.
   */
  #repeatPending(): void {
    for (const { message } of this.#pending.all()) {
      try {
        this.#transport.send(message);
      } catch {
        return; // Cut again; the next restoration repeats.
      }
    }
    this.#asks?.repeat();
  }

  #lost(reason?: Error): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#closeReason = reason;
    this.#pending.rejectAll(() => this.#closedError());
    this.#ended?.abort();
  }

  #closedError(): A2EConnectionError {
    if (this.#state === "new") return new A2EConnectionError("not_connected", "connect first");
    const why = this.#closeReason === undefined ? "the client was disconnected" : this.#closeReason.message;
    return new A2EConnectionError("connection_lost", why, this.#closeReason);
  }

  /** Sends goodbye and closes; calls in flight may still finish for `timeoutMs`. Calling it twice is allowed. */
  async disconnect({ timeoutMs = 0 }: { timeoutMs?: number } = {}): Promise<void> {
    if (this.#state === "open" && timeoutMs > 0) {
      const timer = new AbortController();
      await Promise.race([this.#pending.whenEmpty(), wait(timeoutMs, timer.signal).catch(() => {})]);
      timer.abort();
    }
    // In the meantime the link may have been lost, or a second `disconnect` with a shorter timeout may have closed it.
    if (this.isConnected) this.#sayGoodbye();
    this.#lost();
    await this.#transport.close();
  }

  #sayGoodbye(): void {
    try {
      this.#transport.send(createMessage("shutdown", this.#nextId(), this.#clock.now(), { timeout: 0 }));
    } catch {
      // The link is gone, and goodbye with it.
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disconnect();
  }
}

/** Ids of the same process begin alike and ids of two processes may end alike, so a name uses parts of both. */
function shortened(id: string): string {
  return id.length <= 16 ? id : id.slice(0, 8) + id.slice(-8);
}

function receiveEvent(pending: PendingCall, message: Message): void {
  const event = takeEvent(pending, message);
  if (event !== undefined) guarded(() => pending.options.onEvent?.(event));
}

/** JSON has no BigInt and no cycles: an error of the caller, not of the link. */
function toSendError(cause: Error): Error {
  if (cause instanceof TypeError) return new TypeError(`the request has no JSON form: ${cause.message}`, { cause });
  return new A2EConnectionError("connection_lost", `could not send: ${cause.message}`, cause);
}
