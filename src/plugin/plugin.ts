// The public API of plugins. The capabilities of this package use the same API as third-party plugins.
import type { z } from "zod";
import type { Awaitable } from "../protocol/awaitable.ts";
import type { Clock, IdSource } from "../protocol/envelope.ts";
import type { JsonObject } from "../protocol/json.ts";
import type {
  Call,
  Capability,
  Push,
  RequestInputOf,
  RequestOf,
  ResultInputOf,
  ResultOf,
} from "../protocol/table/capability.ts";
import type { CallContext, CallOther, SessionInfo } from "./call-context.ts";
import type { CheckedResult } from "./checked-result.ts";
import type { Logger } from "./logger.ts";
import type { Database } from "./ports/database.ts";
import type { Sandboxes } from "./ports/sandbox.ts";
import type { Secrets } from "./ports/secrets.ts";
import type { SessionState } from "./session-state.ts";
import type { ToolCatalogue } from "./tool-catalogue.ts";
import type { Charge } from "./usage.ts";

/** The argument of `setup()`, which is called once when the host starts. */
export interface PluginContext {
  /** The name under which the config lists this plugin. */
  readonly name: string;
  /** The host's data folder, which all plugins share. It may not exist yet. */
  readonly dataDir: string;
  /** The folder that file tools are confined to. */
  readonly workspaceDir: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** For data that outlives a session. */
  readonly database: Database;
  /** Tools that every session of the host sees. */
  readonly tools: ToolCatalogue;
  /** Runs untrusted programs in confinement. */
  readonly sandboxes: Sandboxes;
  /** Encrypts secrets before they are stored. */
  readonly secrets: Secrets;
  /** True in a replay, which takes all results from the recording: do not start threads, processes or connections. */
  readonly isReplay: boolean;
}

export interface AskOptions {
  signal?: AbortSignal;
  /** How long the agent may take to answer; the host's `askTimeoutMs` if it is left out. */
  timeoutMs?: number;
}

/** The argument of `session()`, which is called for each session that negotiated the plugin's capability. */
export interface SessionContext {
  readonly session: SessionInfo;
  readonly log: Logger;
  readonly clock: Clock;
  readonly nextId: IdSource;
  /** Returns a number from 0 up to 1. It is recorded, so a replay gets the same number. */
  readonly random: () => number;
  /** The state of this plugin in the session. Not empty at first if the session was restored, forked or recovered. */
  readonly state: SessionState;
  /** The tools of the host and of this session. */
  readonly tools: ToolCatalogue;
  /** Sends a message that does not answer a request. */
  push<P extends Push>(push: P, payload: z.input<P["payload"]>): void;
  /**
   * Bytes of outgoing lines that the agent has not taken yet. A plugin that pushes a lot, such as the output of
   * processes, should pause while this number is high.
   */
  unsentBytes(): number;
  /**
   * Asks the agent, with one of the `asks` of a table. Rejects with an A2EError: the error that the agent answered
   * with, `timeout`, or `cancelled` if the signal aborts or the session ends.
   */
  ask<C extends Call>(ask: C, request: RequestInputOf<C>, options?: AskOptions): Promise<ResultOf<C>>;
  /**
   * Runs `work`, which uses something outside of the session, for example a file, and returns its result. If the
   * session is recorded, the result must be JSON: a replay returns the recorded result and does not run `work`.
   */
  outside<Result>(work: () => Result): Result;
  /**
   * The same for longer work within a call, for example a script. `work` must send events and make calls through the
   * context in its argument. Work that makes calls is run again in a replay, like a tool.
   */
  outside<Result>(work: (call: CallContext) => Promise<Result>, call: CallContext): Promise<Result>;
  /**
   * For messages that arrive from outside without a request, for example from a thread or a connection. Call the
   * returned function with each message: it calls `receive`. If the session is recorded, messages must be JSON: a
   * replay delivers the recorded messages and no others. `asWritten` converts messages that may contain secrets for the
   * recording.
   */
  fromOutside<Message>(receive: (message: Message) => void, asWritten?: AsWritten<Message>): (message: Message) => void;
  /** Calls any capability of this session outside of a request. Calls in flight are cancelled when the session ends. */
  readonly call: CallOther;
  /** For work that goes on after its call, as of processes. Undefined under the same conditions as in `CallContext`. */
  readonly charge?: Charge | undefined;
}

/** Converts a message to its recorded form. `conceal` empties the secret fields of a request of the given type. */
export type AsWritten<Message> = (
  message: Message,
  conceal: (type: string, request: JsonObject) => JsonObject,
) => Message;

/** One function per call of the table. If it returns undefined, the next plugin of the capability is asked. */
export type Handlers<C extends Capability> = {
  [Name in keyof C["calls"]]: (
    request: RequestOf<C["calls"][Name]>,
    context: CallContext,
  ) => Awaitable<ResultInputOf<C["calls"][Name]> | CheckedResult<ResultOf<C["calls"][Name]>> | undefined>;
};

/**
 * A plugin within one session: its handlers and its hooks. A part keeps lasting data in `context.state`. A restore or a
 * merge closes the part and calls the plugin's `session()` again on the new state.
 */
export interface SessionPart<C extends Capability = Capability> {
  readonly handlers: Handlers<C>;
  /**
   * The answers depend on things outside of the session, for example on processes. A recording stores the answers, and
   * a replay returns them without calling the handlers. Handlers must not emit events, and pushes must not belong to a
   * call.
   */
  readonly isOutside?: boolean;
  /**
   * For a plugin that also keeps data outside of `context.state`, for example in a database: prepares the state with
   * which a fork of this session begins. `forked` is already a copy of this part's state.
   */
  fork?(forked: SessionState): void;
  /**
   * The counterpart of `fork`: applies the changes that a fork made outside of its state. The host merges the state.
   */
  merge?(fork: SessionState): { merged: number; conflicts: string[] };
  /**
   * The name of the resource that an id in a request stands for, for calls whose table says `resolve`; "" stands for a
   * request without an id. Rights are checked against the name. If it is unknown, the call needs the right to all
   * resources of the kind.
   */
  resourceOf?(kind: string, id: string): string | undefined;
  /** The session is open and its capabilities can be called. Called once per part, also after a part was reopened. */
  opened?(): void;
  /**
   * The host stops, and the next host will recover this session. The part starts nothing new and returns, at the latest
   * when `signal` aborts, the ids of requests that the next host will answer: they get no answer here, and their agents
   * repeat them there. All other calls in flight are cancelled.
   */
  leave?(signal: AbortSignal): Awaitable<Iterable<string>>;
  /**
   * The part ends. `isForGood` is false if the session may continue: after a restore or a merge, in the next host, or
   * from a snapshot. If it is true, the part can delete its data outside of the state.
   */
  close?(isForGood?: boolean): Awaitable<void>;
}

/**
 * `copied`: the fork starts with a copy of the state. `overlaid`: the same, and its changes to shared data are in an
 * overlay. `shared`: the plugin has no data that belongs to a session. `refused`: the fork does not have the
 * capability.
 */
export type Forking = "copied" | "overlaid" | "shared" | "refused";

export interface Plugin<C extends Capability = Capability> {
  readonly capability: C;
  /** Plugins with a higher priority are asked first. The config may override it. */
  readonly priority?: number;
  /** If true, other plugins of the same capability are never asked. The config may override it. */
  readonly exclusive?: boolean;
  /**
   * 1 if it is left out. Raise it when you change the keys of `context.state` or the shape of their values: a restore
   * from an older snapshot is then answered with an error.
   */
  readonly stateVersion?: number;
  /**
   * How a fork of a session starts with this plugin. The default is "copied", and "shared" for a plugin without state.
   */
  readonly forking?: Forking;
  /** Opens resources that all sessions share. If it rejects, the host does not start. */
  setup?(context: PluginContext): Awaitable<void>;
  /** Called for each session, so it must be cheap: create tables and connections in `setup()`. */
  session(context: SessionContext): Awaitable<SessionPart<C>>;
  /** Called once, after the last session was closed. */
  close?(): Awaitable<void>;
}

/** A plugin with its name and rank in the host. */
export interface LoadedPlugin {
  readonly name: string;
  readonly plugin: Plugin;
  readonly priority: number;
  readonly exclusive: boolean;
}

/** The export that `cls` in a config refers to: creates a plugin from its `metadata` and the rest of its entry. */
export type PluginFactory = (options: JsonObject) => Awaitable<Plugin>;

/** Declares a plugin; a missing handler or a wrong result does not compile. */
export function plugin<C extends Capability>(capability: C, rest: Omit<Plugin<C>, "capability">): Plugin<C> {
  return { capability, ...rest };
}

/** The `outside` of a session that is not recorded. */
export const runOutside = ((work: (call?: CallContext) => unknown, call?: CallContext) =>
  work(call)) as SessionContext["outside"];
