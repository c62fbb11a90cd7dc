// Questions of the host to an agent: sent like a push, answered like a call. Each question is settled exactly once: by
// an answer, a timeout, its signal or the end of the session.
import { AsyncResource } from "node:async_hooks";
import type { Deadlines, Expirable } from "../../machinery/pacing/deadlines.ts";
import type { AskOptions } from "../../plugin/plugin.ts";
import { createMessage } from "../../protocol/codec.ts";
import { errorPayload, withdrawn } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { Call } from "../../protocol/table/capability.ts";
import { parseWith } from "../../protocol/table/parse.ts";
import type { Sources } from "../sources.ts";

interface AskScope {
  readonly session: { readonly id: string };
  readonly limits: Limits;
  readonly sources: Sources;
  readonly deadlines: Deadlines;
}

interface PendingAsk {
  readonly call: Call;
  /** Runs work in the async context of the plugin that asked, also if a timer or another call ends the question. */
  readonly runAsAsker: (work: () => void) => void;
  settle(outcome: JsonObject | A2EError): void;
}

export class AgentAsks {
  readonly #scope: AskScope;
  readonly #send: (message: Message) => void;
  readonly #pending = new Map<string, PendingAsk>();
  /** The reason why the session ended; questions are rejected from then on. */
  #ended: string | undefined;

  constructor(scope: AskScope, send: (message: Message) => void) {
    this.#scope = scope;
    this.#send = send;
  }

  ask(call: Call, request: unknown, options?: AskOptions): Promise<JsonObject> {
    const answered = this.#ask(call, request, options);
    // A plugin may ignore the promise, and an unhandled rejection would end the process.
    answered.catch(() => {});
    return answered;
  }

  async #ask(call: Call, request: unknown, { signal, timeoutMs }: AskOptions = {}): Promise<JsonObject> {
    const { session, limits, sources, deadlines } = this.#scope;
    if (this.#ended !== undefined) throw new A2EError("cancelled", this.#ended);
    const fields = call.parseRequest(request);
    if (fields instanceof A2EError) throw fields;
    if (signal?.aborted === true) throw new A2EError("cancelled", "cancelled by the plugin that asked");
    if (this.#pending.size >= limits.maxPendingAsks)
      throw new A2EError("rate_limited", `${limits.maxPendingAsks} questions to this agent wait for an answer`, {
        detail: { limit: "maxPendingAsks", retry_after_ms: 1000 },
      });
    const id = sources.nextId();
    const waitMs = Math.min(timeoutMs ?? limits.askTimeoutMs, limits.maxCallTimeoutMs);
    return new Promise((resolve, reject) => {
      const deadline: Expirable = {
        id,
        session,
        expiresAt: performance.now() + waitMs,
        expire: () => this.#withdraw(id, new A2EError("timeout", `the agent did not answer within ${waitMs / 1000} s`)),
      };
      const stop = () => this.#withdraw(id, new A2EError("cancelled", "cancelled by the plugin that asked"));
      signal?.addEventListener("abort", stop, { once: true });
      const ask: PendingAsk = {
        call,
        runAsAsker: AsyncResource.bind(runNow),
        settle: (outcome) => {
          if (!this.#pending.delete(id)) return;
          deadlines.delete(deadline);
          signal?.removeEventListener("abort", stop);
          if (outcome instanceof A2EError) reject(outcome);
          else resolve(outcome);
        },
      };
      this.#pending.set(id, ask);
      deadlines.add(deadline);
      const correlation = call.correlatedBy === undefined ? {} : { [call.correlatedBy]: id };
      try {
        this.#send(createMessage(call.type, id, sources.clock.now(), { ...fields, ...correlation }));
      } catch (cause) {
        ask.settle(new A2EError("runtime_error", `the question cannot be sent: ${(cause as Error).message}`));
      }
    });
  }

  /** The plugin no longer waits for the answer: notifies the agent, which may be showing the question to a user. */
  #withdraw(ask_id: string, error: A2EError): void {
    const ask = this.#pending.get(ask_id);
    ask?.settle(error);
    ask?.runAsAsker(() => {
      const { clock, nextId } = this.#scope.sources;
      this.#send(createMessage(withdrawn.type, nextId(), clock.now(), { ask_id, reason: error.message }));
    });
  }

  /**
   * Handles an answer of the agent. Returns an error if the answer is invalid, or false if no pending question matches.
   */
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

  /**
   * Whether a message answers a pending question. Such a message is never held until plugins are open, because a plugin
   * may be waiting for it while it opens.
   */
  isAnswer(message: Message, asked: Call | undefined): boolean {
    return this.#pending.has(toAskId(message, asked));
  }

  /** The session ends: rejects all pending and later questions. */
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
