// An agent's answers to questions of the host: a handler per type of question, and exactly one answer per question,
// even if the handler fails.

import { createMessage } from "../protocol/codec.ts";
import type { Clock, IdSource, Message } from "../protocol/envelope.ts";
import { A2EError, messageOf } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Call, RequestOf, ResultInputOf } from "../protocol/table/capability.ts";

export interface AskContext {
  /** Aborted when the answer is no longer needed: the host has withdrawn the question, or the client closes. */
  readonly signal: AbortSignal;
}

export type AskHandler<C extends Call = Call> = (
  request: RequestOf<C>,
  context: AskContext,
) => ResultInputOf<C> | Promise<ResultInputOf<C>>;

interface AskPort {
  readonly clock: Clock;
  readonly nextId: IdSource;
  /** Aborted when the client closes. */
  readonly signal: AbortSignal;
  /** True until connect() resolves: the application does not have the client yet and could not have added a handler. */
  isConnecting(): boolean;
  send(message: Message): void;
}

interface Registered {
  readonly call: Call;
  readonly responseType: string;
  readonly handler: AskHandler;
}

/** A question and its answer. */
interface Given {
  /** Undefined while the handler runs, and after the question was withdrawn. */
  message: Message | undefined;
  isOver: boolean;
  isRepeated: boolean;
  readonly withdrawal: AbortController;
}

/**
 * Answers that can be sent again: a link that is cut loses messages under way, and the host then repeats the question.
 */
const keptAnswers = 16;

export class AskHandlers {
  readonly #port: AskPort;
  readonly #handlers = new Map<string, Registered>();
  /** By the id of the question, oldest first. */
  readonly #given = new Map<string, Given>();
  /** Questions without a handler so far. */
  #unanswered: Message[] = [];

  constructor(port: AskPort) {
    this.#port = port;
  }

  /** A later handler of the same question replaces an earlier one. Returns a function that removes the handler. */
  add<C extends Call>(call: C, handler: AskHandler<C>): () => void {
    const types: [type: string, responseType: string][] = [
      [call.type, call.responseType],
      ...Object.entries(call.aliases),
    ];
    const added = types.map(([type, responseType]) => {
      const registered: Registered = { call, responseType, handler: handler as unknown as AskHandler };
      this.#handlers.set(type, registered);
      return [type, registered] as const;
    });
    return () => {
      for (const [type, registered] of added) if (this.#handlers.get(type) === registered) this.#handlers.delete(type);
    };
  }

  /** Answers a question; returns false if the message is not a question. */
  take(message: Message): boolean {
    const { type, id } = message;
    const registered = this.#handlers.get(type);
    if (typeof id !== "string" || (registered === undefined && !type.endsWith("/req"))) return false;
    const given = this.#given.get(id);
    if (given !== undefined) this.#giveAgain(given);
    else {
      const { signal } = this.#begin(id).withdrawal;
      if (registered !== undefined) void this.#answer(message, registered, signal);
      else {
        this.#unanswered.push(message);
        if (!this.#port.isConnecting()) this.takeUnanswered();
      }
    }
    return true;
  }

  /**
   * Answers the questions that wait for a handler, or refuses them. Not before the next turn: a question may come with
   * the answer to the handshake, and the code that awaits connect() adds its handlers only after all promises in
   * between.
   */
  takeUnanswered(): void {
    if (this.#unanswered.length === 0) return;
    const messages = this.#unanswered;
    this.#unanswered = [];
    setTimeout(() => {
      for (const message of messages) this.#answerOrRefuse(message);
    }, 0);
  }

  #answerOrRefuse(message: Message): void {
    const { type, id } = message;
    const signal = this.#given.get(id)?.withdrawal.signal;
    if (signal === undefined || signal.aborted || this.#port.signal.aborted) return;
    const registered = this.#handlers.get(type);
    if (registered !== undefined) void this.#answer(message, registered, signal);
    else this.#fail(id, new A2EError("unknown_type", `this agent does not answer "${type}"`));
  }

  #begin(id: string): Given {
    const given = { message: undefined, isOver: false, isRepeated: false, withdrawal: new AbortController() };
    this.#given.set(id, given);
    return given;
  }

  /** The host no longer waits for the answer. */
  withdraw({ ask_id, reason }: Message): void {
    const given = typeof ask_id === "string" ? this.#given.get(ask_id) : undefined;
    if (given === undefined || given.isOver) return;
    given.isOver = true;
    given.withdrawal.abort(new A2EError("cancelled", typeof reason === "string" ? reason : ""));
    this.#forgetOldest();
  }

  /** The link was cut and is back: the last answers may not have arrived. */
  repeat(): void {
    for (const given of this.#given.values()) this.#giveAgain(given);
  }

  #giveAgain(given: Given): void {
    if (given.message === undefined) return;
    given.isRepeated = true;
    this.#send(given.message);
  }

  /** Whether this error only reports that the host already had an answer to the question. */
  isRefusedRepetition({ type, req_id }: Message): boolean {
    if (type !== "error") return false;
    for (const { message, isRepeated } of this.#given.values()) if (isRepeated && message?.id === req_id) return true;
    return false;
  }

  async #answer(message: Message, { call, responseType, handler }: Registered, withdrawal: AbortSignal): Promise<void> {
    const { id } = message;
    const signal = AbortSignal.any([this.#port.signal, withdrawal]);
    try {
      const request = call.parseRequest(message);
      if (request instanceof A2EError) throw request;
      const result = call.parseResult(await handler(request, { signal }));
      if (result instanceof A2EError) throw new A2EError("runtime_error", result.message);
      const correlation = call.correlatedBy === undefined ? {} : { [call.correlatedBy]: id };
      this.#give(id, responseType, { ...result, ...correlation });
    } catch (error) {
      this.#fail(id, error);
    }
  }

  #fail(req_id: string, error: unknown): void {
    const { code, detail, retryable } = error instanceof A2EError ? error : new A2EError("runtime_error", "");
    const message = messageOf(error);
    this.#give(req_id, "error", { code, message, detail, retryable });
  }

  #give(req_id: string, type: string, fields: JsonObject): void {
    const { clock, nextId } = this.#port;
    const given = this.#given.get(req_id);
    // Withdrawn, or so many have come since that it is forgotten.
    if (given === undefined || given.withdrawal.signal.aborted) return;
    const message = createMessage(type, nextId(), clock.now(), { req_id, ...fields });
    given.message = message;
    given.isOver = true;
    try {
      this.#send(message);
    } catch {
      // The value that a handler returned may have no JSON form. The host must receive an answer nevertheless.
      if (type !== "error") this.#fail(req_id, new A2EError("runtime_error", "the agent's answer has no JSON form"));
    }
    this.#forgetOldest();
  }

  /** Those that are still being worked on stay: they are not run twice. */
  #forgetOldest(): void {
    let count = this.#given.size - keptAnswers;
    for (const [id, { isOver }] of this.#given) {
      if (count <= 0) return;
      if (!isOver) continue;
      this.#given.delete(id);
      count -= 1;
    }
  }

  /** Throws if the message cannot be encoded. */
  #send(message: Message): void {
    if (this.#port.signal.aborted) return;
    try {
      this.#port.send(message);
    } catch (error) {
      if (error instanceof TypeError) throw error;
      // The link is gone; the host gives up on the question by itself.
    }
  }
}
