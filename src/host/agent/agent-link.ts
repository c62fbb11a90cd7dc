// Messages of the host to an agent that do not answer a request: pushes of plugins, and questions to the agent.

import type { AskOptions } from "../../plugin/plugin.ts";
import type { Dialect } from "../../protocol/dialects.ts";
import { inDocsSpelling } from "../../protocol/docs-spelling.ts";
import type { Message } from "../../protocol/envelope.ts";
import type { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { Kernel } from "../kernel.ts";
import type { Outbox } from "../outbound/outbox.ts";
import type { SessionScope } from "../session/session-scope.ts";
import { AgentAsks } from "./agent-asks.ts";

export class AgentLink {
  /** The spelling of names that the agent uses. */
  dialect: Dialect;
  /**
   * The handshake that is being handled, as it was received: the dialect depends on version fields that the parsed request
   * does not have. Undefined if a handler calls the handshake.
   */
  handshake: Message | undefined;
  readonly #kernel: Kernel;
  readonly #scope: SessionScope;
  readonly #outbox: Outbox;
  /** Created with the first question: most agents are never asked. */
  #asks: AgentAsks | undefined;

  constructor(kernel: Kernel, scope: SessionScope, outbox: Outbox, dialect: Dialect = "full") {
    this.#kernel = kernel;
    this.#scope = scope;
    this.#outbox = outbox;
    this.dialect = dialect;
  }

  /** Bytes that were sent to the agent and that it has not taken yet. */
  get unsentBytes(): number {
    return this.#outbox.unsentBytes;
  }

  push(message: Message): void {
    if (this.#scope.life.isClosed) return;
    this.#outbox.sendAside(this.dialect === "docs" ? inDocsSpelling(message, this.#kernel.registry) : message);
  }

  ask(call: Call, request: unknown, options?: AskOptions): Promise<JsonObject> {
    return this.#questions.ask(call, request, options);
  }

  get #questions(): AgentAsks {
    const { limits, deadlines } = this.#kernel;
    const { info: session, sources } = this.#scope;
    this.#asks ??= new AgentAsks({ session, limits, sources, deadlines }, (message) => this.push(message));
    return this.#asks;
  }

  /** Whether a message answers a pending question. */
  isAnswer(message: Message): boolean {
    if (this.#asks === undefined) return false;
    const entry = this.#kernel.registry.get(message.type);
    if (entry?.kind !== "ask" && entry?.kind !== "error") return false;
    return this.#asks.isAnswer(message, entry.kind === "ask" ? entry.call : undefined);
  }

  /** Handles a message that may answer a question: true if it does, an error if its fields are invalid. */
  answer(message: Message, asked: Call | undefined): A2EError | boolean {
    return this.#asks?.answer(message, asked) ?? false;
  }

  /** Rejects all pending and later questions with this reason. */
  end(reason: string): void {
    this.#questions.end(reason);
  }
}
