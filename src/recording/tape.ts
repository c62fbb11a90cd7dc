// Everything that passes between a session and the world outside, as far as the messages of the session do not determine
// it. A recorder writes it down, a player returns it from a recording.
import { AsyncLocalStorage } from "node:async_hooks";
import type { SessionTap } from "../host/session/session-tap.ts";
import type { Sources } from "../host/sources.ts";
import type { Expirable } from "../machinery/pacing/deadlines.ts";
import type { CallContext } from "../plugin/call-context.ts";
import type { AsWritten, SessionContext } from "../plugin/plugin.ts";
import type { ToolCatalogue } from "../plugin/tool-catalogue.ts";

export interface Tape extends SessionTap {
  readonly sources: Sources;
  /** A JSON value that comes from outside, such as the time. An error that `produce` throws is recorded as well. */
  value<Value>(kind: string, produce: () => Value): Value;
  /** Drawing a value failed before `value` was asked for it; a replay throws the error when the value is drawn. */
  failed(kind: string, error: unknown): void;
  /**
   * Work outside of the session that may take a while. Events that it sends through its context come from outside too.
   */
  effect<Result>(kind: EffectKind, run: () => Result): Result;
  effect<Result>(kind: EffectKind, run: (context: CallContext) => Result, context: CallContext): Result;
  /** For JSON that comes from outside without being asked for; returns the function to call with it. */
  fromOutside<Message>(receive: (message: Message) => void, asWritten?: AsWritten<Message>): (message: Message) => void;
  /** A call or a question gets a deadline. Returns the item to time, or undefined if no clock decides when it ends. */
  expiring(item: Expirable): Expirable | undefined;
  /** A plugin opens its part of the session. */
  opening(context: SessionContext): void;
  /** A plugin lists the tools of the session. In a replay, the tools of other plugins are the recorded ones. */
  showTools(catalogue: ToolCatalogue): void;
  /** Capabilities whose answers come from outside. */
  readonly outside: Set<string>;
  /** The recording so far, as text; undefined if it cannot be read. */
  read(): Promise<string | undefined>;
}

/** The sessions of a host that have a tape, by their ids. */
export type Tapes = Map<string, Tape>;

/** Tools can be run again in a replay, on request; the other kinds cannot. */
export type EffectKind = "tool" | "store" | "replay" | "outside";

/** On whose behalf code runs, across promises and timers. */
export interface Scope {
  readonly tape: Tape;
  readonly id: string;
  /** Work outside of the session: lines that are sent meanwhile come from there, and a replay does not compare them. */
  readonly isEffect: boolean;
  /** How many effects the scope has had: they are numbered. */
  effectCount: number;
}

/**
 * The scope of a call; "" is the session itself. Effects are numbered after a slash, and agents choose ids: so a slash in
 * an id is doubled.
 */
export function scopeOfCall(tape: Tape, callId: string): Scope {
  return { tape, id: callId.replaceAll("/", "//"), isEffect: false, effectCount: 0 };
}

/** The scope of the next effect within another scope. */
export function scopeOfEffect(scope: Scope): Scope {
  scope.effectCount += 1;
  return { tape: scope.tape, id: `${scope.id}/${scope.effectCount}`, isEffect: true, effectCount: 0 };
}

/** The effect that contains the effect of this id; undefined if that was begun by the call itself. */
export function outerEffect(id: string): string | undefined {
  const [, outer] = /^((?:[^/]|\/\/)*(?:\/\d+)+)\/\d+$/.exec(id) ?? [];
  return outer;
}

/** The call in which an effect of this id was. */
export function callOfEffect(id: string): string {
  const [scope = ""] = /^(?:[^/]|\/\/)*/.exec(id) ?? [];
  return scope.replaceAll("//", "/");
}

/** The ids under which a tape keeps values of calls: not their own if a plugin chose those, since they may repeat. */
export class CallScopes {
  readonly #ids = new WeakMap<object, string>();

  /** Names the scope of a call that begins. */
  begin(call: { readonly id: string; readonly hasChosenId: boolean }, { nextId }: Sources): string {
    if (!call.hasChosenId) return call.id;
    const id = nextId();
    this.#ids.set(call, id);
    return id;
  }

  of(item: Expirable): string {
    return this.#ids.get(item.call ?? item) ?? item.id;
  }
}

/** Resolves when the code that runs has gone as far as it can without anything from outside: after all microtasks. */
export function afterMicrotasks(): Promise<undefined> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

/** Made only for a host that records or replays: following calls across promises slows down all of a process. */
export type Scopes = AsyncLocalStorage<Scope | undefined>;

export function createScopes(): Scopes {
  return new AsyncLocalStorage();
}

export function createSources(tape: Pick<Tape, "value">, { clock, nextId, random, startedAt }: Sources): Sources {
  return {
    clock: { now: () => tape.value("now", () => clock.now()) },
    nextId: () => tape.value("id", nextId),
    random: () => tape.value("random", random),
    startedAt,
  };
}
