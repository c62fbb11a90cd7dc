// Questions of the host to an agent: sent like a push, answered like a call. Each ends once, whatever the agent does.
import { AsyncResource } from "node:async_hooks";
import type { Call } from "../../protocol/capability.ts";
import { createMessage } from "../../protocol/codec.ts";
import { errorPayload, withdrawn } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Limits } from "../../protocol/limits.ts";
import { parseWith } from "../../protocol/parse.ts";
import type { Sources, Tape } from "../../recording/tape.ts";
import type { AskOptions } from "../plugin.ts";

interface AskPort {
  readonly limits: Limits;
  readonly sources: Sources;
  readonly tape: Tape | undefined;
  send(message: Message): void;
}

interface PendingAsk {
  readonly call: Call;
  readonly timeoutMs: number;
  /** On behalf of whoever asked, also where somebody else ends the question; nobody's, where a replay did not ask it. */
  readonly inScope: ((work: () => void) => void) | undefined;
  settle(outcome: JsonObject | A2EError): void;
}

export class AgentAsks {
  readonly #port: AskPort;
  readonly #pending = new Map<string, PendingAsk>();
  /** Why nobody can be asked any more. */
  #ended: string | undefined;

  constructor(port: AskPort) {
    this.#port = port;
  }

  ask(call: Call, request: unknown, options?: AskOptions): Promise<JsonObject> {
    const answered = this.#ask(call, request, options);
    // A plugin that does not wait for it has no use for its error, and an unhandled one would end the process.
    answered.catch(() => {});
    return answered;
  }

  async #ask(call: Call, request: unknown, { signal, timeoutMs }: AskOptions = {}): Promise<JsonObject> {
    const { limits, sources, tape } = this.#port;
    if (this.#ended !== undefined) throw new A2EError("cancelled", this.#ended);
    const fields = call.parseRequest(request);
    if (fields instanceof A2EError) throw fields;
    if (signal?.aborted === true) throw new A2EError("cancelled", "cancelled by whoever asked");
    if (this.#pending.size >= limits.maxPendingAsks)
      throw new A2EError("rate_limited", `${limits.maxPendingAsks} questions to this agent wait for an answer`, {
        detail: { limit: "maxPendingAsks", retry_after_ms: 1000 },
      });
    const id = sources.nextId();
    const waitMs = Math.min(timeoutMs ?? limits.askTimeoutMs, limits.maxCallTimeoutMs);
    return new Promise((resolve, reject) => {
      const expire = () => this.expire(id);
      const timer = setTimeout(() => (tape === undefined ? expire() : tape.expire(id, expire)), waitMs);
      const stop = () => this.#withdraw(id, new A2EError("cancelled", "cancelled by whoever asked"));
      signal?.addEventListener("abort", stop, { once: true });
      const ask: PendingAsk = {
        call,
        timeoutMs: waitMs,
        inScope: tape === undefined ? runNow : AsyncResource.bind(runNow),
        settle: (outcome) => {
          if (!this.#pending.delete(id)) return;
          clearTimeout(timer);
          signal?.removeEventListener("abort", stop);
          if (outcome instanceof A2EError) reject(outcome);
          else resolve(outcome);
        },
      };
      this.#pending.set(id, ask);
      const correlation = call.correlatedBy === undefined ? {} : { [call.correlatedBy]: id };
      try {
        this.#port.send(createMessage(call.type, id, sources.clock.now(), { ...fields, ...correlation }));
      } catch (cause) {
        ask.settle(new A2EError("runtime_error", `the question cannot be sent: ${(cause as Error).message}`));
      }
    });
  }

  /** Takes the answer to a question that was asked by what a replay does not run: it is nobody's any more. */
  recall(call: Call, id: string): void {
    this.#pending.set(id, { call, timeoutMs: 0, inScope: undefined, settle: () => void this.#pending.delete(id) });
  }

  /** The time of a question is over; false where none of this id waits. */
  expire(id: string): boolean {
    const ask = this.#pending.get(id);
    if (ask === undefined) return false;
    this.#withdraw(id, new A2EError("timeout", `the agent did not answer within ${ask.timeoutMs / 1000} s`));
    return true;
  }

  /** Nobody waits for the answer any more: the agent need not go on thinking about it, nor a user in front of it. */
  #withdraw(ask_id: string, error: A2EError): void {
    const ask = this.#pending.get(ask_id);
    ask?.settle(error);
    ask?.inScope?.(() => {
      const { clock, nextId } = this.#port.sources;
      this.#port.send(createMessage(withdrawn.type, nextId(), clock.now(), { ask_id, reason: error.message }));
    });
  }

  /** Takes an answer of the agent. Returns what is wrong with it, or false where it answers no question that waits. */
  answer(message: Message, asked: Call | undefined): A2EError | boolean {
    const ask = this.#pending.get(toAskId(message, asked));
    if (ask === undefined || (asked !== undefined && asked !== ask.call)) return false;
    if (message.type === "error") {
      ask.settle(toError(message));
      return true;
    }
    const result = ask.call.parseResult(message);
    ask.settle(
      result instanceof A2EError
        ? new A2EError("runtime_error", `the agent's answer is unusable: ${result.message}`)
        : result,
    );
    return result instanceof A2EError ? result : true;
  }

  /** Whether somebody waits for this: such a message is never held back, or a plugin that asks as it opens would wait for itself. */
  isAnswer(message: Message, asked: Call | undefined): boolean {
    return this.#pending.has(toAskId(message, asked));
  }

  /** The session ends: nobody will answer any more, and nobody is asked. */
  end(reason: string): void {
    this.#ended = reason;
    for (const ask of [...this.#pending.values()]) ask.settle(new A2EError("cancelled", reason));
  }
}

function runNow(work: () => void): void {
  work();
}

function toAskId(message: Message, asked: Call | undefined): string {
  const { req_id } = message;
  if (typeof req_id === "string" && req_id !== "") return req_id;
  const correlation = asked?.correlatedBy === undefined ? undefined : message[asked.correlatedBy];
  return typeof correlation === "string" ? correlation : "";
}

function toError(message: Message): A2EError {
  const payload = parseWith(errorPayload, message);
  if (payload instanceof A2EError) return new A2EError("runtime_error", "the agent answered with an unreadable error");
  const { code, message: text, detail, retryable } = payload;
  return new A2EError(code, text, { detail, retryable });
}
