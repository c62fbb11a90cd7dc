// The host's side of a session of a plugin in a thread: its running calls, and the messages of the thread about it. All
// of these messages pass `receive`, which records them, so that a replay needs no thread.
import { AsyncResource } from "node:async_hooks";
import type { CallContext } from "../plugin/call-context.ts";
import type { Plugin, SessionContext } from "../plugin/plugin.ts";
import type { SessionState } from "../plugin/session-state.ts";
import { A2EError, type ErrorJson, fromErrorJson } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { AgentRequest, NestedRequest, SessionMessage, StateEntries, ToPluginThread } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";
import { type PostToThread, ThreadRequests } from "./thread-requests.ts";

/** The functions of its thread that a session needs. */
export interface ThreadPort {
  readonly capability: Plugin["capability"];
  /** Posts a message to the thread, after opening the session there if necessary. Not posted if `isWanted` is false by then. */
  deliver(session: IsolatedSession, message: ToPluginThread, isWanted: () => boolean): Promise<void>;
  /** Aborts a call in the current thread; calls of earlier threads have ended with them. */
  abort(session: number, call: number, reason: unknown): void;
  /** The session is closed and its last call has ended: no more messages will come for it. */
  forget(session: IsolatedSession): void;
}

interface RunningCall {
  readonly context: CallContext;
  /** Runs `work` as part of this call. A message of a thread arrives outside of any call. */
  readonly inScope: <Result>(work: () => Result) => Result;
  /** The request was posted to the thread: if the thread is lost, so is the call. */
  isSent: boolean;
  resolve(result: JsonObject | undefined): void;
  reject(error: Error): void;
}

/** The thread was lost: requests that it had made are aborted. */
type Lost = { kind: "lost" };

export class IsolatedSession {
  readonly number: number;
  readonly context: SessionContext;
  /**
   * The host's copy of the state, which outlives the thread. Opened at once, so that a restore finds it: in a replay there is
   * no thread that would ask for it later.
   */
  readonly state: SessionState;
  readonly #port: ThreadPort;
  readonly #receive: (message: SessionMessage | Lost) => void;
  readonly #calls = new Map<number, RunningCall>();
  readonly #requests = new ThreadRequests();
  #callCount = 0;
  #isClosed = false;
  /** Posts to the thread that sent the last message; does nothing in a replay. */
  #post: PostToThread = () => {};

  constructor(number: number, context: SessionContext, port: ThreadPort) {
    this.number = number;
    this.context = context;
    this.state = context.state;
    this.#port = port;
    this.#receive = context.fromOutside(
      (message) => this.#handle(message),
      (message, conceal) =>
        message.kind === "nested" ? { ...message, request: conceal(message.type, message.request) } : message,
    );
  }

  /** Whether calls of this session run in the thread. Calls that were not posted yet do not count. */
  get isBusy(): boolean {
    return [...this.#calls.values()].some(({ isSent }) => isSent);
  }

  /** Its part was closed, because the session ended or the part is being reopened. Running calls may still finish. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes a message of the thread; answers go to `post`. Throws if the message makes no sense. */
  receive(message: SessionMessage, post: PostToThread): void {
    const why = this.#whyRefused(message);
    if (why !== undefined) return refuseRequest(message, why, post);
    this.#post = post;
    this.#receive(message);
  }

  /** Messages about a call that has ended are dropped, and so are messages outside of calls if the session is closed. */
  #whyRefused(message: SessionMessage): string | undefined {
    if ("call" in message) return this.#calls.has(message.call) ? undefined : "the call has ended";
    return this.#isClosed && message.kind !== "abortNested" ? sessionEnded : undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#requests.refuseOwn(sessionEnded);
    this.#forgetIfOver();
  }

  #forgetIfOver(): void {
    if (this.#isClosed && !this.isBusy) this.#port.forget(this);
  }

  /** The thread was lost: fails the calls that ran there. */
  lose(thrown: Error): void {
    const error = toThreadError(thrown);
    this.#receive({ kind: "lost" });
    for (const [call, { isSent }] of [...this.#calls]) if (isSent) this.#fail(call, error);
  }

  #fail(call: number, error: ErrorJson): void {
    if (this.#calls.has(call)) this.#receive({ kind: "error", session: this.number, call, error });
  }

  async call(name: string, request: JsonObject, context: CallContext): Promise<JsonObject | undefined> {
    const { id, signal } = context;
    signal.throwIfAborted();
    this.#callCount += 1;
    const call = this.#callCount;
    const { number: session } = this;
    const abort = () => {
      const running = this.#take(call);
      if (running?.isSent === true) this.#port.abort(session, call, signal.reason);
      running?.reject(signal.reason as Error);
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await new Promise<JsonObject | undefined>((resolve, reject) => {
        const inScope = AsyncResource.bind((work: () => unknown) => work()) as RunningCall["inScope"];
        const running: RunningCall = { context, inScope, isSent: false, resolve, reject };
        this.#calls.set(call, running);
        const isWanted = () => {
          running.isSent = this.#calls.has(call);
          return running.isSent;
        };
        const message: ToPluginThread = { kind: "call", session, call, id, name, request };
        this.#port.deliver(this, message, isWanted).catch((error: unknown) => this.#fail(call, toThreadError(error)));
      });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #handle(message: SessionMessage | Lost): void {
    switch (message.kind) {
      case "result":
        return this.#take(message.call)?.resolve(message.result);
      case "error":
        return this.#take(message.call)?.reject(fromErrorJson(message.error));
      case "event": {
        const { call, event, data } = message;
        const running = this.#calls.get(call);
        return running?.inScope(() => running.context.emit(event, data));
      }
      case "timeout":
        return this.#calls.get(message.call)?.context.setTimeout(message.timeoutMs);
      case "state":
        return this.#takeState(message.changes);
      case "push":
        return this.#push(message.type, message.payload);
      case "nested":
        return this.#requests.start(message, this.#post, (signal) => this.#callOther(message, this.#post, signal));
      case "askAgent":
        return this.#requests.start(message, this.#post, (signal) => this.#askAgent(message, signal));
      case "abortNested":
        return this.#requests.abort(message.nested);
      case "lost":
        return this.#requests.end();
    }
  }

  #take(call: number): RunningCall | undefined {
    const running = this.#calls.get(call);
    this.#calls.delete(call);
    this.#forgetIfOver();
    return running;
  }

  /** Applies changes to the host's copy: the journal writes them with the next line that the session sends. */
  #takeState(changes: StateEntries): void {
    for (const [key, value] of changes) {
      if (value === undefined) this.state.delete(key);
      else this.state.set(key, value);
    }
  }

  #push(type: string, payload: JsonObject): void {
    const { capability } = this.#port;
    const table = Object.values(capability.pushes).find((candidate) => candidate.type === type);
    if (table === undefined) throw new Error(`the capability "${capability.name}" has no push "${type}"`);
    this.context.push(table, payload);
  }

  async #callOther(message: NestedRequest, post: PostToThread, signal: AbortSignal): Promise<JsonObject> {
    const { call, nested, type, request, timeoutMs, id } = message;
    const options = {
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(id === undefined ? {} : { id }),
      onEvent: (event: { kind: string; data: JsonObject; seq: number }) => post({ kind: "nestedEvent", nested, event }),
    };
    if (call === undefined) return this.context.call(type, request, options);
    const running = this.#calls.get(call);
    if (running === undefined) throw new A2EError("cancelled", "the call has ended");
    return running.inScope(() => running.context.call(type, request, options));
  }

  async #askAgent({ type, request, timeoutMs }: AgentRequest, signal: AbortSignal): Promise<JsonObject> {
    const table = Object.values(this.#port.capability.asks).find((candidate) => candidate.type === type);
    if (table === undefined) throw new A2EError("cancelled", `the capability asks no question of type ${type}`);
    const options = { signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    return (await this.context.ask(table, request, options)) as JsonObject;
  }
}

/** The reason given for refusing a request of a session that has ended. */
export const sessionEnded = "the session has ended";

/** Answers a request of the thread with `cancelled`; messages that expect no answer are dropped. */
export function refuseRequest(message: SessionMessage, why: string, post: PostToThread): void {
  if (message.kind !== "nested" && message.kind !== "askAgent") return;
  post({ kind: "nested", nested: message.nested, error: toThreadError(new A2EError("cancelled", why)) });
}
