// What a plugin is given with each session: the session as a part of it sees it.

import { createMessage } from "../../protocol/codec.ts";
import type { Clock, IdSource } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { AgentLink } from "../agent/agent-link.ts";
import type { CallContext, CallOptions, CallOther, SessionInfo } from "../call-context.ts";
import type { Kernel } from "../kernel.ts";
import type { LoadedPlugin } from "../loaded-plugin.ts";
import type { Logger } from "../logger.ts";
import type { SessionContext } from "../plugin.ts";
import type { StateListener } from "../state/plugin-states.ts";
import type { SessionState } from "../state/session-state.ts";
import type { ToolCatalogue } from "../tool-catalogue.ts";
import type { SessionScope } from "./session-scope.ts";

/** What parts need of their session. */
export interface SessionPartsPort extends StateListener {
  readonly scope: SessionScope;
  readonly agent: Pick<AgentLink, "push" | "ask" | "unsentBytes">;
  /** Starts a call that belongs to no request of the agent; it ends with the session. */
  callInBackground(call: Call | string, request: JsonObject, options?: CallOptions): Promise<JsonObject>;
}

/** What a part shares with the other parts of its session, or keeps there. */
interface PartHolder {
  readonly tools: ToolCatalogue;
  stateOf(loaded: LoadedPlugin): SessionState;
}

/** Methods on a prototype, made into functions only for a plugin that takes them out: there is one of these per plugin and session. */
export class PartContext implements SessionContext {
  readonly #kernel: Kernel;
  readonly #session: SessionPartsPort;
  readonly #loaded: LoadedPlugin;
  readonly #parts: PartHolder;

  constructor(kernel: Kernel, session: SessionPartsPort, loaded: LoadedPlugin, parts: PartHolder) {
    this.#kernel = kernel;
    this.#session = session;
    this.#loaded = loaded;
    this.#parts = parts;
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
    return this.#parts.stateOf(this.#loaded);
  }
  get tools(): ToolCatalogue {
    return this.#parts.tools;
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
  /** A host that records its sessions gives plugins a context of its own around this one. */
  get outside(): SessionContext["outside"] {
    return runOutside;
  }
  get fromOutside(): SessionContext["fromOutside"] {
    return (receive) => receive;
  }
  get call(): CallOther {
    return ((call: Call | string, request: JsonObject, options?: CallOptions) =>
      this.#session.callInBackground(call, request, options)) as CallOther;
  }
}

/** What `outside` is if nothing is recorded. */
export const runOutside = ((work: (call?: CallContext) => unknown, call?: CallContext) =>
  work(call)) as SessionContext["outside"];
