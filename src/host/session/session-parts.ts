// Opens, reopens and closes the parts of one session. A part is the object that a plugin's `session()` returned for
// this session: its handlers and its hooks. The states of the parts are in plugin-states.ts, and outlive the parts.
import { closeWithin } from "../../machinery/pacing/close-within.ts";
import type { LayeredState } from "../../machinery/state/layered-state.ts";
import type { PluginStates } from "../../machinery/state/plugin-states.ts";
import type { CallOptions } from "../../plugin/call-context.ts";
import type { LoadedPlugin, SessionPart } from "../../plugin/plugin.ts";
import { ToolCatalogue } from "../../plugin/tool-catalogue.ts";
import { isThenable } from "../../protocol/awaitable.ts";
import { core } from "../../protocol/core.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { AgentLink } from "../agent/agent-link.ts";
import type { Kernel } from "../kernel.ts";
import { PartContext, type PartServices, type PartsOfSession } from "./part-context.ts";
import type { SessionScope } from "./session-scope.ts";

/** A plugin whose state was changed, so that its part has to be reopened. */
export interface ChangedState {
  readonly plugin: LoadedPlugin;
  /** Undoes the change: called if the plugin cannot open a part on the changed state. */
  undo?(): void;
}

/** Makes the calls that a part starts outside of a request. */
type BackgroundCalls = Pick<PartServices, "startInBackground">;

export class SessionParts implements PartsOfSession, PartServices {
  readonly states: PluginStates;
  readonly scope: SessionScope;
  readonly agent: AgentLink;
  readonly #kernel: Kernel;
  readonly #createCore: () => SessionPart;
  #calls: BackgroundCalls | undefined;
  readonly #parts = new Map<LoadedPlugin, SessionPart>();
  readonly #byCapability = new Map<string, readonly SessionPart[]>();
  #tools: ToolCatalogue | undefined;
  /** Parts whose `opened()` has not been called yet. */
  #unopened: SessionPart[] = [];
  #opening: Promise<unknown> | undefined;
  #closed: WeakSet<SessionPart> | undefined;
  #isOpen = false;
  #isClosed = false;

  /** `createCore` is called with the first call of the core, which the session answers itself. */
  constructor(
    kernel: Kernel,
    scope: SessionScope,
    agent: AgentLink,
    states: PluginStates,
    createCore: () => SessionPart,
  ) {
    this.#kernel = kernel;
    this.scope = scope;
    this.agent = agent;
    this.states = states;
    this.#createCore = createCore;
  }

  get services(): PartServices {
    return this;
  }

  get all(): ReadonlyMap<LoadedPlugin, SessionPart> {
    return this.#parts;
  }

  /**
   * Settles when no part is being opened or reopened; undefined if that is so now. Work that needs all parts waits in a
   * loop, `while (parts.opening !== undefined) await parts.opening`, because another part may begin to open as the
   * first ends.
   */
  get opening(): Promise<unknown> | undefined {
    return this.#opening;
  }

  /** The parts that serve a capability, in the order in which they are asked. */
  of(capability: string): readonly SessionPart[] {
    const parts = this.#byCapability.get(capability);
    if (parts !== undefined || capability !== core.name) return parts ?? [];
    const own = [this.#createCore()];
    this.#byCapability.set(core.name, own);
    return own;
  }

  /** The runner needs the parts and is created after them. */
  set calls(calls: BackgroundCalls) {
    this.#calls = calls;
  }

  startInBackground(call: Call | string, request: JsonObject, options?: CallOptions): Promise<JsonObject> {
    return (this.#calls as BackgroundCalls).startInBackground(call, request, options);
  }

  /**
   * Opens the missing parts of these capabilities; returns a promise only if a plugin opens its part asynchronously.
   */
  open(capabilities: Iterable<string>): Promise<unknown> | undefined {
    const later: Promise<void>[] = [];
    for (const name of capabilities) {
      for (const loaded of this.#kernel.handlersOf.get(name) ?? []) {
        const opening = this.#parts.has(loaded) ? undefined : this.#start(loaded);
        if (opening !== undefined) later.push(opening);
      }
    }
    if (later.length === 0) return undefined;
    const opening = allOrFirstFailure(later);
    this.#oneByOne(() => opening).catch(() => {});
    return opening;
  }

  #start(loaded: LoadedPlugin): Promise<void> | undefined {
    const part = this.#openPart(loaded);
    if (isThenable(part)) return this.#addLater(loaded, part);
    this.#add(loaded, part);
    return undefined;
  }

  /** Turns a throw into a rejection: other parts may be opening already, and `open` has to wait for those as well. */
  #openPart(loaded: LoadedPlugin): SessionPart | PromiseLike<SessionPart> {
    try {
      const part = loaded.plugin.session(new PartContext(this.#kernel, this, loaded));
      return isThenable(part) ? part : toPart(loaded, part);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #addLater(loaded: LoadedPlugin, opening: PromiseLike<SessionPart>): Promise<void> {
    const part = toPart(loaded, await opening);
    if (!this.#isClosed) return this.#add(loaded, part);
    await this.#close(loaded, part, false);
    throw new Error("the session was closed while a plugin was opening it");
  }

  #add(loaded: LoadedPlugin, part: SessionPart): void {
    this.#parts.set(loaded, part);
    if (part.opened !== undefined) this.#unopened.push(part);
    const { name } = loaded.plugin.capability;
    const order = this.#kernel.handlersOf.get(name) ?? [];
    const parts = order.length === 1 ? [part] : order.flatMap((ranked) => this.#parts.get(ranked) ?? []);
    this.#byCapability.set(name, parts);
  }

  #remove(loaded: LoadedPlugin, part: SessionPart): void {
    const { name } = loaded.plugin.capability;
    this.#parts.delete(loaded);
    this.#byCapability.set(
      name,
      this.of(name).filter((other) => other !== part),
    );
  }

  /** The session is open: calls `opened()` of every part for which it has not been called yet. */
  tellOpened(): void {
    this.#isOpen = true;
    for (const part of this.#unopened.splice(0)) {
      try {
        part.opened?.();
      } catch (error) {
        const session = this.scope.info.handle;
        this.#kernel.log.error("opened() of a plugin threw", { session, error });
      }
    }
  }

  /** Calls `leave()` of every part. `onLeft` gets the ids of the requests that the next host answers, part by part. */
  async leave(signal: AbortSignal, onLeft: (ids: Iterable<string>) => void): Promise<void> {
    const leaving = [...this.#parts].map(async ([loaded, part]) => {
      if (part.leave === undefined) return;
      try {
        await closeWithin(async () => onLeft((await part.leave?.(signal)) ?? []), undefined, signal);
      } catch (error) {
        const session = this.scope.info.handle;
        this.#kernel.log.error("leave() of a plugin failed", { plugin: loaded.name, session, error });
      }
    });
    await Promise.all(leaving);
  }

  stateOf({ name }: LoadedPlugin): LayeredState {
    return this.states.open(name);
  }

  /** Created when first needed: most sessions add no tools of their own. */
  get tools(): ToolCatalogue {
    if (this.#tools !== undefined) return this.#tools;
    this.#tools = new ToolCatalogue(this.#kernel.tools);
    return this.#tools;
  }

  /**
   * Changes states and reopens the parts that use them, for a restore or a merge. `change` runs in one turn, so that
   * the journal has all of its changes or none. Waits until no other part is being opened.
   */
  reopenAfter(change: () => Iterable<ChangedState>): Promise<void> {
    return this.#oneByOne(async () => {
      const reopening = Array.from(change(), (changed) => this.#reopen(changed));
      await oneAfterTheOther(reopening);
    });
  }

  /**
   * Without this, two restores at the same time would each open a part, and one of these parts would never be closed.
   */
  async #oneByOne<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#opening !== undefined) await this.#opening;
    const done = work().finally(() => {
      this.#opening = undefined;
    });
    this.#opening = done.catch(() => {});
    return done;
  }

  /**
   * Closes a part now; the returned function opens its successor. A replay needs parts to be opened one after the
   * other, in the same order. Until then the closed part is still found by `of`, because calls may be running in it.
   */
  #reopen({ plugin, undo }: ChangedState): () => Promise<void> {
    const part = this.#parts.get(plugin);
    if (part === undefined) return async () => {};
    const closing = this.#close(plugin, part, false);
    return async () => {
      await closing;
      if (this.#isClosed) return;
      this.#unopened = this.#unopened.filter((unopened) => unopened !== part);
      try {
        await this.#start(plugin);
      } catch (error) {
        this.#remove(plugin, part);
        undo?.();
        if (undo !== undefined && !this.#isClosed) await this.#start(plugin);
        throw error;
      } finally {
        if (this.#isOpen) this.tellOpened();
      }
    };
  }

  async close(isForGood: boolean): Promise<void> {
    this.#isClosed = true;
    for (const [loaded, part] of this.#parts) await this.#close(loaded, part, isForGood);
  }

  async #close(loaded: LoadedPlugin, part: SessionPart, isForGood: boolean): Promise<void> {
    // If the session ends while a part is being reopened, the part is already closed.
    this.#closed ??= new WeakSet();
    if (this.#closed.has(part)) return;
    this.#closed.add(part);
    try {
      await closeWithin(() => part.close?.(isForGood));
    } catch (error) {
      const session = this.scope.info.handle;
      this.#kernel.log.error("a plugin could not close a session", { plugin: loaded.name, session, error });
    }
  }
}

function toPart(loaded: LoadedPlugin, part: SessionPart): SessionPart {
  const handlers: unknown = (part as SessionPart | null | undefined)?.handlers;
  if (typeof handlers === "object" && handlers !== null) return part;
  throw new Error(`plugin "${loaded.name}" opened a session without handlers`);
}

/** Waits for all even if one fails: if the agent retries its handshake, no plugin may be half open. */
async function allOrFirstFailure(work: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
}

/** Runs all of them even if one fails, and then rejects with the first failure. */
async function oneAfterTheOther(work: readonly (() => Promise<unknown>)[]): Promise<void> {
  const done: Promise<unknown>[] = [];
  for (const each of work) {
    const doing = each();
    done.push(doing);
    await doing.catch(() => {});
  }
  await allOrFirstFailure(done);
}
