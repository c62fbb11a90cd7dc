// What an agent answers when the host asks: one handler per question, one answer per question, whatever the handler does.
import type { Call, RequestOf, ResultInputOf } from "../protocol/capability.ts";
import { createMessage } from "../protocol/codec.ts";
import type { Clock, IdSource, Message } from "../protocol/envelope.ts";
import { A2EError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";

export type AskHandler<C extends Call = Call> = (
  request: RequestOf<C>,
  context: { signal: AbortSignal },
) => ResultInputOf<C> | Promise<ResultInputOf<C>>;

interface AskPort {
  readonly clock: Clock;
  readonly nextId: IdSource;
  /** Aborted when the client closes. */
  readonly signal: AbortSignal;
  send(message: Message): void;
}

interface Registered {
  readonly call: Call;
  readonly responseType: string;
  readonly handler: AskHandler;
}

export class AskHandlers {
  readonly #port: AskPort;
  readonly #handlers = new Map<string, Registered>();

  constructor(port: AskPort) {
    this.#port = port;
  }

  /** The latest handler of a question stands. Returns what takes it away. */
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

  /** Answers a question; false where the message is none. */
  take(message: Message): boolean {
    const { type, id } = message;
    if (!type.endsWith("/req") || typeof id !== "string") return this.#handlers.has(type) && this.#takeKnown(message);
    if (this.#handlers.has(type)) return this.#takeKnown(message);
    this.#fail(id, new A2EError("unknown_type", `this agent does not answer "${type}"`));
    return true;
  }

  #takeKnown(message: Message): boolean {
    void this.#answer(message, this.#handlers.get(message.type) as Registered);
    return true;
  }

  async #answer(message: Message, { call, responseType, handler }: Registered): Promise<void> {
    const { id } = message;
    try {
      const request = call.parseRequest(message);
      if (request instanceof A2EError) throw request;
      const result = call.parseResult(await handler(request, { signal: this.#port.signal }));
      if (result instanceof A2EError) throw new A2EError("runtime_error", result.message);
      const correlation = call.correlatedBy === undefined ? {} : { [call.correlatedBy]: id };
      this.#send(responseType, { req_id: id, ...result, ...correlation });
    } catch (error) {
      this.#fail(id, error);
    }
  }

  #fail(req_id: string, error: unknown): void {
    const { code, detail, retryable } = error instanceof A2EError ? error : new A2EError("runtime_error", "");
    const message = error instanceof Error ? error.message : String(error);
    this.#send("error", { req_id, code, message, detail, retryable });
  }

  #send(type: string, fields: JsonObject): void {
    const { clock, nextId, signal } = this.#port;
    if (signal.aborted) return;
    try {
      this.#port.send(createMessage(type, nextId(), clock.now(), fields));
    } catch {
      // The link is gone; the host gives up on the question by itself.
    }
  }
}
