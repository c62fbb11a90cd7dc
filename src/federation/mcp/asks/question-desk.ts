// Sends questions of a host to its MCP client: as part of a request that is being served or, in revisions that allow
// it, as a request of the server.

import type { A2EClient } from "../../../client/client.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Call, Capability } from "../../../protocol/table/capability.ts";
import { type Question, toQuestion } from "./questions.ts";

/** A way to send a question to the client. */
export interface Carrier {
  canCarry(question: Question): boolean;
  /**
   * Resolves with the client's answer in MCP's form; rejects with `WayEnded` if the way closes before the client
   * answered.
   */
  carry(question: Question, signal: AbortSignal): Promise<JsonObject>;
}

/** The question may be sent another way. */
export class WayEnded extends Error {}

export class QuestionDesk {
  readonly #carriers = new Set<Carrier>();

  /** Answers every question of these tables that an MCP client can be asked. */
  constructor(client: A2EClient, tables: readonly Capability[]) {
    for (const { asks } of tables) {
      for (const ask of Object.values(asks)) {
        client.onAsk(ask, (request, { signal }) => this.#answer(ask, request as JsonObject, signal));
      }
    }
  }

  /** Offers a way to send questions until the returned function is called. */
  offer(carrier: Carrier): () => void {
    this.#carriers.add(carrier);
    return () => this.#carriers.delete(carrier);
  }

  async #answer(ask: Call, request: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const question = toQuestion(ask, request);
    if (question === undefined) throw new A2EError("unknown_type", `an MCP client cannot be asked "${ask.type}"`);
    // The newest first: most likely it is the call that the question comes from, and any other works as well. Ways that
    // are offered later are not tried: the question cannot belong to them.
    const ways = [...this.#carriers].toReversed().filter((carrier) => carrier.canCarry(question));
    if (ways.length === 0)
      throw new A2EError("forbidden", `this MCP client does not support "${question.request.method}"`);
    for (const carrier of ways) {
      if (!this.#carriers.has(carrier)) continue;
      const answer = await carrier.carry(question, signal).catch(unlessWayEnded);
      if (answer !== undefined) return question.toAnswer(answer);
    }
    throw new A2EError("cancelled", "the MCP client disconnected before it could be asked");
  }
}

function unlessWayEnded(error: unknown): undefined {
  if (!(error instanceof WayEnded)) throw error;
}
