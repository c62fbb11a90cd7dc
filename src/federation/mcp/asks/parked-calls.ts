// Calls that wait for their client. In revision 2026-07-28 a server cannot send requests: it answers that it needs
// input, and the client repeats its request with the answers. Meanwhile the call continues; it is not started again.
import { randomUUID } from "node:crypto";
import {
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { A2EError } from "../../../protocol/errors.ts";
import { isJsonObject, type JsonObject } from "../../../protocol/json.ts";
import { mcpLimits } from "../limits.ts";
import { type Carrier, WayEnded } from "./question-desk.ts";
import { canAnswer, type Question } from "./questions.ts";

interface OpenQuestion {
  readonly question: Question;
  resolve(answer: JsonObject): void;
  reject(reason: Error): void;
}

/** One request of the client that belongs to a call; a call may take several. */
interface Round {
  readonly requestState: string | undefined;
  readonly inputResponses: Record<string, unknown> | undefined;
  readonly capabilities: ClientCapabilities | undefined;
  readonly signal: AbortSignal;
}

export class ParkedCalls {
  readonly #parked = new Map<string, ParkedCall<unknown>>();
  readonly #offer: (carrier: Carrier) => () => void;

  constructor(offer: (carrier: Carrier) => () => void) {
    this.#offer = offer;
  }

  /** Starts a call, or continues the call that the client repeats, until it ends or needs input from the client. */
  async run<Result>(
    round: Round,
    start: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | InputRequiredResult> {
    const { requestState } = round;
    const known = requestState === undefined ? undefined : this.#parked.get(requestState);
    // Never started as a new call, or it would run twice.
    if (requestState !== undefined && known === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "this call has ended, or another request continues it");
    }
    const call = (known as ParkedCall<Result> | undefined) ?? new ParkedCall(start, round.capabilities, this.#offer);
    this.#parked.delete(call.id);
    const outcome = await call.next(round);
    if (outcome.isDone) return outcome.result;
    this.#park(call);
    return inputRequired({ inputRequests: outcome.requests, requestState: call.id });
  }

  #park(call: ParkedCall<unknown>): void {
    for (const [id, oldest] of this.#parked) {
      if (this.#parked.size < mcpLimits.maxParkedCalls) break;
      this.#parked.delete(id);
      oldest.abort();
    }
    this.#parked.set(call.id, call);
    call.expire(() => {
      if (this.#parked.delete(call.id)) call.abort();
    });
  }

  close(): void {
    for (const call of this.#parked.values()) call.abort();
    this.#parked.clear();
  }
}

type ParkedOutcome<Result> =
  | { isDone: true; result: Result }
  | { isDone: false; requests: Record<string, Question["request"]> };

class ParkedCall<Result> implements Carrier {
  /** Unguessable, and only looked up among the calls of one session: no other session can continue the call. */
  readonly id = randomUUID();
  readonly #result: Promise<Result>;
  readonly #abort = new AbortController();
  readonly #open = new Map<string, OpenQuestion>();
  readonly #withdraw: () => void;
  readonly #capabilities: ClientCapabilities | undefined;
  #asked: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(
    start: (signal: AbortSignal) => Promise<Result>,
    capabilities: ClientCapabilities | undefined,
    offer: (carrier: Carrier) => () => void,
  ) {
    this.#capabilities = capabilities;
    this.#withdraw = offer(this);
    this.#result = start(this.#abort.signal).finally(() => this.#end());
    // `next` handles the rejection, but may be called late or never.
    this.#result.catch(() => {});
  }

  canCarry({ request }: Question): boolean {
    return canAnswer(request, this.#capabilities);
  }

  carry(question: Question, signal: AbortSignal): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const key = `question-${++this.#count}`;
      const giveUp = () => settle(() => reject(new A2EError("cancelled", "this answer is no longer awaited")));
      const settle = (end: () => void) => {
        if (!this.#open.delete(key)) return;
        signal.removeEventListener("abort", giveUp);
        end();
      };
      signal.addEventListener("abort", giveUp);
      this.#open.set(key, {
        question,
        resolve: (answer) => settle(() => resolve(answer)),
        reject: (reason) => settle(() => reject(reason)),
      });
      this.#asked?.();
    });
  }

  /** A question that is still open did not come from this call: it is sent another way. */
  #end(): void {
    this.#withdraw();
    for (const { reject } of [...this.#open.values()]) reject(new WayEnded());
  }

  /** Delivers the client's answers, then waits until the call ends or asks a question. */
  async next({ inputResponses, signal }: Round): Promise<ParkedOutcome<Result>> {
    clearTimeout(this.#timer);
    for (const [key, { resolve }] of [...this.#open]) {
      const answer = inputResponses?.[key];
      if (isJsonObject(answer)) resolve(answer);
    }
    const stop = () => this.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const done = this.#result.then((result): ParkedOutcome<Result> => ({ isDone: true, result }));
    try {
      if (signal.aborted) return await done;
      const isAsked = new Promise<void>((resolve) => {
        this.#asked = resolve;
        if (this.#open.size > 0) resolve();
      });
      return await Promise.race([
        done,
        isAsked.then((): ParkedOutcome<Result> => ({ isDone: false, requests: this.#requests() })),
      ]);
    } finally {
      this.#asked = undefined;
      signal.removeEventListener("abort", stop);
    }
  }

  #requests(): Record<string, Question["request"]> {
    return Object.fromEntries([...this.#open].map(([key, { question }]) => [key, question.request]));
  }

  expire(then: () => void): void {
    this.#timer = setTimeout(then, mcpLimits.parkedCallMs).unref();
  }

  abort(): void {
    clearTimeout(this.#timer);
    this.#abort.abort(new A2EError("cancelled", "the client did not repeat its request in time"));
  }
}
