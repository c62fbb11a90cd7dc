// The `SessionContext` that a plugin gets for each session.

import type { CallOptions, CallOther, SessionInfo } from "../../plugin/call-context.ts";
import type { Logger } from "../../plugin/logger.ts";
import { type LoadedPlugin, runOutside, type SessionContext } from "../../plugin/plugin.ts";
import type { SessionState } from "../../plugin/session-state.ts";
import type { ToolCatalogue } from "../../plugin/tool-catalogue.ts";
import { createMessage } from "../../protocol/codec.ts";
import type { Clock, IdSource } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { AgentLink } from "../agent/agent-link.ts";
import type { Kernel } from "../kernel.ts";
import type { SessionScope } from "./session-scope.ts";

/** The parts of a session, as far as the context of one part uses them. */
export interface PartsOfSession {
  readonly scope: SessionScope;
  readonly agent: Pick<AgentLink, "push" | "ask" | "unsentBytes">;
  readonly services: PartServices;
}

export interface PartServices {
  readonly tools: ToolCatalogue;
  stateOf(loaded: LoadedPlugin): SessionState;
  /** Starts a call that does not belong to a request of the agent; it is cancelled when the session ends. */
  startInBackground(call: Call | string, request: JsonObject, options?: CallOptions): Promise<JsonObject>;
}

/**
 * There is one instance per plugin and session, so it must be small: getters on the prototype create the functions only
 * for a plugin that reads them.
 */
export class PartContext implements SessionContext {
  readonly #kernel: Kernel;
  readonly #session: PartsOfSession;
  readonly #loaded: LoadedPlugin;

  constructor(kernel: Kernel, session: PartsOfSession, loaded: LoadedPlugin) {
    this.#kernel = kernel;
    this.#session = session;
    this.#loaded = loaded;
  }

  get session(): SessionInfo {
    return this.#session.scope.info;
  }
  get log(): Logger {
    return this.#kernel.log;
  }
  get clock(): Clock {
    return this.#session.scope.sources.clock;
  }
  get nextId(): IdSource {
    return this.#session.scope.sources.nextId;
  }
  get random(): () => number {
    return this.#session.scope.sources.random;
  }
  get state(): SessionState {
    return this.#session.services.stateOf(this.#loaded);
  }
  get tools(): ToolCatalogue {
    return this.#session.services.tools;
  }
  get push(): SessionContext["push"] {
    return (push, payload) => {
      const { nextId, clock } = this.#session.scope.sources;
      const fields = push.payload.parse(payload) as object;
      this.#session.agent.push(createMessage(push.type, nextId(), clock.now(), fields));
    };
  }
  get unsentBytes(): SessionContext["unsentBytes"] {
    return () => this.#session.agent.unsentBytes;
  }
  get ask(): SessionContext["ask"] {
    return ((call, request, options) => this.#session.agent.ask(call, request, options)) as SessionContext["ask"];
  }
  /** A host that records its sessions wraps this context and replaces `outside` and `fromOutside`. */
  get outside(): SessionContext["outside"] {
    return runOutside;
  }
  get fromOutside(): SessionContext["fromOutside"] {
    return (receive) => receive;
  }
  get charge(): SessionContext["charge"] {
    const { charge } = this.#kernel;
    return charge && ((unit, amount) => charge(this.session.principal, unit, amount));
  }
  get call(): CallOther {
    return ((call: Call | string, request: JsonObject, options?: CallOptions) =>
      this.#session.services.startInBackground(call, request, options)) as CallOther;
  }
}
