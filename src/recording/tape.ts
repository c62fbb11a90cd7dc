// What passes between a session and everything that is not determined by its messages. A recorder writes it down; a
// player gives it back. A session without a tape knows nothing of either.
import { AsyncLocalStorage } from "node:async_hooks";
import type { CallContext } from "../host/call-context.ts";
import type { AsWritten } from "../host/plugin.ts";
import type { ToolCatalogue } from "../host/tool-catalogue.ts";
import type { Clock, IdSource } from "../protocol/envelope.ts";

/** Where a session takes time, ids and chance from. */
export interface Sources {
  readonly clock: Clock;
  readonly nextId: IdSource;
  readonly random: () => number;
  /** When the host was started, in milliseconds since 1970. */
  readonly startedAt: number;
}

export interface Tape {
  readonly sources: Sources;
  /** Handles what came in: a line, or undefined for one that was too long. */
  receive(line: string | undefined, handle: () => void): void;
  /** Runs a call, so that whatever it draws is kept apart from what others draw meanwhile; "" is the session itself. */
  within(callId: string, work: () => void): void;
  /** The time of a call is over. */
  expire(callId: string, end: () => void): void;
  /** The session says a line. */
  say(line: string): void;
  /** A JSON value that comes from outside, such as the time. What `produce` throws is part of it. */
  value<Value>(kind: string, produce: () => Value): Value;
  /** Something that happens outside and may take a while. Events that it sends by its context come from outside too. */
  effect<Result>(kind: EffectKind, run: () => Result): Result;
  effect<Result>(kind: EffectKind, run: (context: CallContext) => Result, context: CallContext): Result;
  /** What comes from outside unasked and is JSON; returns what it is handed to. */
  fromOutside<Message>(receive: (message: Message) => void, asWritten?: AsWritten<Message>): (message: Message) => void;
  /** The session is about to look at its tools for the first time. Of those that others offer, a replay has what it is told. */
  showTools(catalogue: ToolCatalogue): void;
  /** Everything so far, as text; undefined where it cannot be had. */
  read(): Promise<string | undefined>;
  close(): void;
}

/**
 * Tools can be run again in a replay, on request; what a store, a replay or a call of the world outside returned cannot be
 * had twice.
 */
export type EffectKind = "tool" | "store" | "replay" | "outside";

/** On whose behalf code runs, across promises and timers. */
export interface Scope {
  readonly tape: Tape;
  readonly id: string;
  /** It happens outside: what is said meanwhile is said by whatever happens there, and a replay does not hear it. */
  readonly isEffect: boolean;
  /** How many effects it has had: they are numbered. */
  effectCount: number;
}

/** The scope of a call; "" is the session itself. Agents choose ids, and a slash is what numbers effects: theirs are doubled. */
export function scopeOfCall(tape: Tape, callId: string): Scope {
  return { tape, id: callId.replaceAll("/", "//"), isEffect: false, effectCount: 0 };
}

/** The scope of the next effect in another one. */
export function scopeOfEffect(scope: Scope): Scope {
  scope.effectCount += 1;
  return { tape: scope.tape, id: `${scope.id}/${scope.effectCount}`, isEffect: true, effectCount: 0 };
}

/** The effect in which an effect of this id was; undefined where it was in the call itself. */
export function outerEffect(id: string): string | undefined {
  const [, outer] = /^((?:[^/]|\/\/)*(?:\/\d+)+)\/\d+$/.exec(id) ?? [];
  return outer;
}

/** The call in which an effect of this id was. */
export function callOfEffect(id: string): string {
  const [scope = ""] = /^(?:[^/]|\/\/)*/.exec(id) ?? [];
  return scope.replaceAll("//", "/");
}

/** Resolves when whatever runs has gone as far as it can without anything from outside. What a microtask asks for comes after all of them. */
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

/** A call's context with some of its members replaced. Those are getters on private fields, so it cannot be copied. */
export function replaceIn(context: CallContext, members: Partial<CallContext>): CallContext {
  return new Proxy(context, {
    get: (target, name) =>
      Object.hasOwn(members, name) ? Reflect.get(members, name) : Reflect.get(target, name, target),
  });
}
