// The public API that every capability is written against, ours and a stranger's alike.
import type { z } from "zod";
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
import type { CheckedResult } from "./calls/checked-result.ts";
import type { Logger } from "./logger.ts";
import type { Database } from "./ports/database.ts";
import type { Sandboxes } from "./ports/sandbox.ts";
import type { Secrets } from "./ports/secrets.ts";
import type { SessionState } from "./state/session-state.ts";
import type { ToolCatalogue } from "./tool-catalogue.ts";

type Awaitable<Value> = Value | Promise<Value>;

/** What a plugin is given once, when the host starts. */
export interface PluginContext {
  /** The name under which the config lists this plugin. */
  readonly name: string;
  /** Where this plugin may keep files; created on first use of the host's data folder. */
  readonly dataDir: string;
  /** The folder that file tools are confined to. */
  readonly workspaceDir: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Where what outlives a session is kept. */
  readonly database: Database;
  /** Tools that every session of the host sees. */
  readonly tools: ToolCatalogue;
  /** Where programs run that nobody vouches for. */
  readonly sandboxes: Sandboxes;
  /** Seals what may be stored but not read. */
  readonly secrets: Secrets;
  /** True where a recording is replayed, which has the answers of all that is outside: nothing out there is to be begun. */
  readonly isReplay: boolean;
}

export interface AskOptions {
  signal?: AbortSignal;
  /** How long the agent may take; the host's `askTimeoutMs` where it is left out. */
  timeoutMs?: number;
}

/** What a plugin is given for each session that negotiated its capability. */
export interface SessionContext {
  readonly session: SessionInfo;
  readonly log: Logger;
  readonly clock: Clock;
  readonly nextId: IdSource;
  /** From 0 to 1; recorded, so that a replay draws the same. */
  readonly random: () => number;
  /** What this plugin keeps for the session. Has entries already if the session was restored, forked or recovered. */
  readonly state: SessionState;
  /** Tools that this session sees: those of the host and its own. */
  readonly tools: ToolCatalogue;
  /** Sends a message that nobody asked for. */
  push<P extends Push>(push: P, payload: z.input<P["payload"]>): void;
  /**
   * Bytes that this session has said and its agent has not taken yet: whoever sends much without being asked should wait
   * while there are many.
   */
  unsentBytes(): number;
  /**
   * Asks the agent, with one of the `asks` of a table. Rejects with an A2EError: what the agent answered, `timeout`, or
   * `cancelled` where the signal aborts or the session ends.
   */
  ask<C extends Call>(ask: C, request: RequestInputOf<C>, options?: AskOptions): Promise<ResultOf<C>>;
  /**
   * Does what reaches out of the session, as reading a file does, and returns its result. If the session is recorded, so is
   * the result, which must be JSON then: a replay returns it and does nothing.
   */
  outside<Result>(work: () => Result): Result;
  /**
   * The same for longer work within a call, as running a script: `work` must send its events and make its calls by the
   * context that it is given. Work that calls the session is done again in a replay, as a tool is.
   */
  outside<Result>(work: (call: CallContext) => Promise<Result>, call: CallContext): Promise<Result>;
  /**
   * For what comes from outside unasked, as from a thread or a connection: returns what to hand it to, which hands it on to
   * `receive`. Of a session that is recorded, so is what comes, which must be JSON then: a replay hands on what came then,
   * and nothing else. `asWritten` says how, where there may be requests with secrets in it.
   */
  fromOutside<Message>(receive: (message: Message) => void, asWritten?: AsWritten<Message>): (message: Message) => void;
  /** Calls any capability of this session outside of a request; what is still running ends with the session. */
  readonly call: CallOther;
}

/** What a recording holds of a message: `conceal` empties the secret fields of a request of that type. */
export type AsWritten<Message> = (
  message: Message,
  conceal: (type: string, request: JsonObject) => JsonObject,
) => Message;

/** One function per call of the table. Returning undefined declines: another plugin of the capability may answer. */
export type Handlers<C extends Capability> = {
  [Name in keyof C["calls"]]: (
    request: RequestOf<C["calls"][Name]>,
    context: CallContext,
  ) => Awaitable<ResultInputOf<C["calls"][Name]> | CheckedResult<ResultOf<C["calls"][Name]>> | undefined>;
};

/**
 * A plugin within one session: its handlers and its hooks. A part keeps what must last in `context.state`. A restore or a
 * merge closes the part and calls the plugin's `session()` again on the new state.
 */
export interface SessionPart<C extends Capability = Capability> {
  readonly handlers: Handlers<C>;
  /**
   * What the handlers answer comes from the world outside, as that of processes does: a recording holds the answers, and a
   * replay gives them back without asking. They emit nothing, and what this part pushes is on behalf of no call.
   */
  readonly isOutside?: boolean;
  /**
   * For a plugin that also keeps data outside of `context.state`, for example in a database: prepares the state with which a
   * fork of this session begins. `forked` is already a copy of this part's state.
   */
  fork?(forked: SessionState): void;
  /** The counterpart of `fork`: applies what a fork changed outside of its state. The host merges the state itself. */
  merge?(fork: SessionState): { merged: number; conflicts: string[] };
  /** The session is open and its capabilities can be called. Called once per part, also after a part was reopened. */
  opened?(): void;
  /**
   * The host stops, and the next host will recover this session. The part starts nothing new and returns, at the latest when
   * `signal` aborts, the ids of requests that the next host will answer: they get no answer here, and their agents repeat
   * them there. All other calls in flight are cancelled.
   */
  leave?(signal: AbortSignal): Awaitable<Iterable<string>>;
  /**
   * The part ends. `isForGood` is false if the session may go on: after a restore or a merge, in the next host, or from one
   * of its snapshots. If it is true, the part can delete what it keeps outside of its state.
   */
  close?(isForGood?: boolean): Awaitable<void>;
}

/**
 * `copied`: the fork has a state of its own, equal at first. `overlaid`: the same, and its changes to shared data lie in an
 * overlay. `shared`: nothing of the plugin belongs to a session. `refused`: the fork does not have the capability.
 */
export type Forking = "copied" | "overlaid" | "shared" | "refused";

export interface Plugin<C extends Capability = Capability> {
  readonly capability: C;
  /** Higher ones are asked first; the config may override it. */
  readonly priority?: number;
  /** The sole handler of its capability, whoever else declares it; the config may override it. */
  readonly exclusive?: boolean;
  /**
   * 1 if it is left out. Raise it when you change the keys of `context.state` or the shape of their values: a restore from an
   * older snapshot is then answered with an error.
   */
  readonly stateVersion?: number;
  /** What a fork of a session gets of this plugin. The default is "copied", and "shared" for a plugin without state. */
  readonly forking?: Forking;
  /** Opens what all sessions share. A rejection stops the start of the host. */
  setup?(context: PluginContext): Awaitable<void>;
  /** Called for each session, so it must be cheap: share tables and connections, keep state. */
  session(context: SessionContext): Awaitable<SessionPart<C>>;
  /** Called once, after the last session was closed. */
  close?(): Awaitable<void>;
}

/** What the `cls` of a config names: makes a plugin from its `metadata` and the rest of its entry. */
export type PluginFactory = (options: JsonObject) => Awaitable<Plugin>;

/** Declares a plugin; a missing handler or a wrong result does not compile. */
export function plugin<C extends Capability>(capability: C, rest: Omit<Plugin<C>, "capability">): Plugin<C> {
  return { capability, ...rest };
}
