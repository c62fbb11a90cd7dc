import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { RunnerPort } from "../calls/call-runner.ts";
import { closeWithin } from "../close-within.ts";
import type { Kernel } from "../kernel.ts";
import type { LoadedPlugin } from "../loaded-plugin.ts";
import { shortId } from "../logger.ts";
import type { SessionContext, SessionPart, ToolCaller } from "../plugin.ts";
import { isThenable } from "../thenable.ts";
import { ToolCatalogue } from "../tool-catalogue.ts";
import { PartContext, type SessionPartsPort } from "./part-context.ts";
import { mergeState, SessionState } from "./session-state.ts";

/** What a plugin keeps of a session: its state, and what its part holds beside it. */
export type SavedPart = { own?: JsonValue; entries: JsonObject };

export type Forking = "copied" | "overlaid" | "shared" | "refused";

/** What came of merging a plugin's part of a fork. */
type MergedPart = { merged: number; conflicts: string[] };

/** By plugin: keys with what they hold now, or alone where they are gone. */
export type ForkChanges = Record<string, [key: string, value?: JsonValue][]>;

/** Where a part's own snapshot lies beside what it keeps in its state. */
const ownKey = "local:snapshot";

export class SessionParts {
  readonly #kernel: Kernel;
  readonly #session: SessionPartsPort;
  readonly #parts = new Map<LoadedPlugin, SessionPart>();
  readonly #byCapability = new Map<string, readonly SessionPart[]>();
  /** What plugins keep of this session, by their names; made when the first of them keeps something. */
  #states: Map<string, SessionState> | undefined;
  #tools: ToolCatalogue | undefined;
  /** Parts that save asynchronously: there is no use in asking them at the end of each call. */
  readonly #savedLater = new WeakSet<SessionPart>();
  /** Who calls tools for other parts. */
  toolCaller: RunnerPort["toolCaller"];
  /** Parts that were not told yet that their session is open. */
  #untold: SessionPart[] = [];
  #opening: Promise<unknown> | undefined;
  readonly #closed = new WeakSet<SessionPart>();
  #isOpen = false;
  #isClosed = false;

  constructor(kernel: Kernel, session: SessionPartsPort, states?: Map<string, SessionState>) {
    this.#kernel = kernel;
    this.#session = session;
    this.#states = states;
    for (const [plugin, state] of states ?? []) session.onState(plugin, state);
  }

  get all(): ReadonlyMap<LoadedPlugin, SessionPart> {
    return this.#parts;
  }

  /** Settles when parts that are being opened, or opened anew, are there: who needs all of them waits for it. */
  get opening(): Promise<unknown> | undefined {
    return this.#opening;
  }

  of(capability: string): readonly SessionPart[] {
    return this.#byCapability.get(capability) ?? [];
  }

  /** Opens what these capabilities lack; returns a promise only where a plugin needs one. */
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

  /** What a plugin throws waits like what it rejects with: others may be opening already, and nobody may forget them. */
  #openPart(loaded: LoadedPlugin): SessionPart | PromiseLike<SessionPart> {
    try {
      const part = loaded.plugin.session(this.#contextFor(loaded));
      const own = this.#states?.get(loaded.name)?.get(ownKey);
      if (own !== undefined) return this.#withOwn(loaded, part, own);
      return isThenable(part) ? part : toPart(loaded, part);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** A part that holds something beside its state gets it back before anybody uses it. */
  async #withOwn(
    loaded: LoadedPlugin,
    opening: SessionPart | PromiseLike<SessionPart>,
    own: JsonValue,
  ): Promise<SessionPart> {
    const part = toPart(loaded, await opening);
    await part.restore?.(own);
    return part;
  }

  async #addLater(loaded: LoadedPlugin, opening: PromiseLike<SessionPart>): Promise<void> {
    const part = toPart(loaded, await opening);
    if (!this.#isClosed) return this.#add(loaded, part);
    await this.#close(loaded, part, false);
    throw new Error("the session was closed while a plugin was opening it");
  }

  #add(loaded: LoadedPlugin, part: SessionPart): void {
    this.#parts.set(loaded, part);
    if (part.opened !== undefined) this.#untold.push(part);
    const { name } = loaded.plugin.capability;
    const order = this.#kernel.handlersOf.get(name) ?? [];
    const parts = order.length === 1 ? [part] : order.flatMap((ranked) => this.#parts.get(ranked) ?? []);
    this.#byCapability.set(name, parts);
    // Where several are asked, or what they answer is recorded, a tool is called by message.
    if (parts.some(({ toolCaller }) => toolCaller !== undefined))
      this.toolCaller = parts.length === 1 && part.isOutside !== true ? this.#resolve(part.toolCaller) : undefined;
  }

  #resolve(caller: ToolCaller | undefined): RunnerPort["toolCaller"] {
    const entry = caller && this.#kernel.registry.get(caller.call.type);
    if (caller === undefined || entry?.kind !== "request") return undefined;
    return { entry, caller };
  }

  /** The session is open: whoever waited for that is told. */
  tellOpened(): void {
    this.#isOpen = true;
    for (const part of this.#untold.splice(0)) {
      try {
        part.opened?.();
      } catch (error) {
        const session = shortId(this.#session.info.id);
        this.#kernel.log.error("a plugin could not go on with a session", { session, error });
      }
    }
  }

  /** Asks what of this session the next host will go on with; tells the ids of requests as soon as they are known. */
  async leave(signal: AbortSignal, onLeft: (ids: Iterable<string>) => void): Promise<void> {
    const leaving = [...this.#parts].map(async ([loaded, part]) => {
      if (part.leave === undefined) return;
      try {
        await closeWithin(async () => onLeft((await part.leave?.(signal)) ?? []), undefined, signal);
      } catch (error) {
        const session = shortId(this.#session.info.id);
        this.#kernel.log.error("a plugin could not leave a session", { plugin: loaded.name, session, error });
      }
    });
    await Promise.all(leaving);
  }

  /** What a plugin keeps for this session. */
  stateOf({ name }: LoadedPlugin): SessionState {
    return this.#states?.get(name) ?? this.#createState(name);
  }

  #createState(name: string): SessionState {
    const state = new SessionState();
    this.#states ??= new Map();
    this.#states.set(name, state);
    this.#session.onState(name, state);
    return state;
  }

  #contextFor(loaded: LoadedPlugin): SessionContext {
    return new PartContext(this.#kernel, this.#session, loaded, this);
  }

  /** Most sessions bring no tools of their own, so most never need a catalogue of their own. */
  get tools(): ToolCatalogue {
    if (this.#tools !== undefined) return this.#tools;
    this.#tools = new ToolCatalogue(this.#kernel.tools);
    this.#session.tape?.showTools(this.#tools);
    return this.#tools;
  }

  /** A call of this capability has ended: what its parts hold beside their state may have changed. */
  noteChange(capability: string): void {
    for (const [loaded, part] of this.#parts) {
      if (part.snapshot === undefined || loaded.plugin.capability.name !== capability) continue;
      if (this.#savedLater.has(part)) continue;
      this.stateOf(loaded).setLive(ownKey, () => this.#ownNow(loaded, part));
    }
  }

  #ownNow(loaded: LoadedPlugin, part: SessionPart): JsonValue | undefined {
    if (this.#savedLater.has(part)) return undefined;
    // In nobody's name: a replay has no journal, and so does not ask for this.
    const read = () => part.snapshot?.();
    const { scopes } = this.#kernel;
    const own = scopes === undefined ? read() : scopes.run(undefined, read);
    if (!isThenable(own)) return own;
    this.#savedLater.add(part);
    // It may fail as well, and nobody waits for it.
    own.then(undefined, () => {});
    const { name } = loaded;
    this.#kernel.log.warn("a plugin that saves its state asynchronously is not recovered after a crash", {
      plugin: name,
    });
    return undefined;
  }

  /** Whether any plugin has something to save. */
  get isStateful(): boolean {
    if (this.#states !== undefined && this.#states.size > 0) return true;
    return [...this.#parts.values()].some((part) => part.snapshot !== undefined);
  }

  /** Everything a plugin keeps of this session, as JSON; undefined for one that keeps nothing. */
  async save(loaded: LoadedPlugin): Promise<SavedPart | undefined> {
    const part = this.#parts.get(loaded);
    const state = this.#states?.get(loaded.name);
    if (state === undefined && part?.snapshot === undefined) return undefined;
    const entries: JsonObject = {};
    for (const [key, value] of state?.entries() ?? []) if (key !== ownKey) entries[key] = value;
    const own = await part?.snapshot?.();
    return own === undefined ? { entries } : { own, entries };
  }

  /** Whether a plugin has anything to restore, or to restore into. */
  canRestore(loaded: LoadedPlugin, saved: SavedPart): boolean {
    return this.#keepsState(loaded, saved) || this.#parts.get(loaded)?.restore !== undefined;
  }

  /** A part may ask for its state only when it needs it, and then finds there what was saved. */
  #keepsState({ name }: LoadedPlugin, { entries }: SavedPart): boolean {
    return this.#states?.has(name) === true || Object.keys(entries).length > 0;
  }

  /**
   * Puts plugins back to what `save` returned. Those that keep their state with the host are opened anew on it. All are
   * changed in one turn: a crash finds each of them put back, or none.
   */
  restore(saved: Iterable<readonly [LoadedPlugin, SavedPart]>): Promise<void> {
    return this.#oneByOne(() => this.#restore(saved));
  }

  async #restore(saved: Iterable<readonly [LoadedPlugin, SavedPart]>): Promise<void> {
    const work: (() => Promise<unknown>)[] = [];
    for (const [loaded, savedPart] of saved) {
      const { own, entries } = savedPart;
      const part = this.#parts.get(loaded);
      const state = this.#keepsState(loaded, savedPart) ? this.stateOf(loaded) : undefined;
      // With what the part holds beside it, which it gets as it opens: both are written together.
      state?.replace(Object.entries(own === undefined ? entries : { ...entries, [ownKey]: own }));
      if (part === undefined) continue;
      if (state === undefined) work.push(async () => own !== undefined && part.restore?.(own));
      else work.push(this.#reopen(loaded, part));
    }
    await oneAfterTheOther(work);
  }

  /** States for a fork of this session as it is now, and what becomes of each capability in it. `saveOwn` comes first. */
  fork(): { states: Map<string, SessionState>; capabilities: Record<string, Forking> } {
    const states = new Map<string, SessionState>();
    const capabilities: Record<string, Forking> = {};
    for (const [loaded, part] of this.#parts) {
      const { capability, forking } = loaded.plugin;
      const isStateless = part.snapshot === undefined && this.#states?.has(loaded.name) !== true;
      const mode = forking ?? (isStateless ? "shared" : "copied");
      capabilities[capability.name] = mode;
      if (mode === "refused" || isStateless) continue;
      const forked = this.stateOf(loaded).fork();
      part.fork?.(forked);
      states.set(loaded.name, forked);
    }
    return { states, capabilities };
  }

  /** Puts what parts hold beside their state where a fork finds it. */
  async saveOwn(): Promise<void> {
    while (this.#opening !== undefined) await this.#opening;
    for (const [loaded, part] of this.#parts) {
      if (part.snapshot === undefined || loaded.plugin.forking === "refused") continue;
      const own = part.snapshot();
      // Waited for only where it must be: a call that ends meanwhile has left what is newer.
      this.stateOf(loaded).set(ownKey, isThenable(own) ? await own : own);
    }
  }

  /** What a fork has changed since it began, by plugin. */
  changes(): ForkChanges {
    const changes: ForkChanges = {};
    for (const [name, state] of this.#states ?? []) {
      changes[name] = Array.from(state.changesSinceFork(), ({ key, after }) =>
        after === undefined ? [key] : [key, after],
      );
    }
    return changes;
  }

  /** Makes the same changes, in the states of the same plugins; where they were made already, nothing is touched. */
  adopt(changes: ForkChanges): void {
    for (const name of [...(this.#states?.keys() ?? [])]) if (!Object.hasOwn(changes, name)) this.#states?.delete(name);
    for (const [name, changed] of Object.entries(changes)) {
      const state = this.#states?.get(name) ?? this.#createState(name);
      for (const [key, value] of changed) {
        if (JSON.stringify(state.get(key)) === JSON.stringify(value)) continue;
        if (value === undefined) state.delete(key);
        else state.set(key, value);
      }
    }
  }

  /** Takes over what a fork changed, key by key; what was changed here as well stays and is reported. */
  merge(fork: SessionParts): Promise<Record<string, MergedPart>> {
    return this.#oneByOne(() => this.#merge(fork));
  }

  async #merge(fork: SessionParts): Promise<Record<string, MergedPart>> {
    const report: Record<string, MergedPart> = {};
    // All in one turn: a crash finds everything merged, or nothing.
    const reopening: (() => Promise<void>)[] = [];
    for (const [loaded, part] of this.#parts) {
      const other = fork.#states?.get(loaded.name);
      if (other === undefined) continue;
      const outcome = mergeState(this.stateOf(loaded), other);
      const outside = part.merge?.(other);
      report[loaded.plugin.capability.name] = {
        merged: outcome.merged + (outside?.merged ?? 0),
        conflicts: [...outcome.conflicts, ...(outside?.conflicts ?? [])],
      };
      if (outcome.merged > 0) reopening.push(this.#reopen(loaded, part));
    }
    await oneAfterTheOther(reopening);
    return report;
  }

  /** Two that opened a part anew at the same time would leave one of them that nobody closes. */
  async #oneByOne<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#opening !== undefined) await this.#opening;
    const done = work().finally(() => {
      this.#opening = undefined;
    });
    this.#opening = done.catch(() => {});
    return done;
  }

  /**
   * Closes a part now, and opens it anew when it is called: a replay takes what parts need as they open in the same order.
   * Until then it keeps its place: others may be going through them.
   */
  #reopen(loaded: LoadedPlugin, part: SessionPart): () => Promise<void> {
    const closing = this.#close(loaded, part, false);
    return async () => {
      await closing;
      if (this.#isClosed) return;
      this.#untold = this.#untold.filter((untold) => untold !== part);
      try {
        await this.#start(loaded);
      } catch (error) {
        this.#parts.delete(loaded);
        await this.#startWithoutOwn(loaded);
        throw error;
      } finally {
        if (this.#isOpen) this.tellOpened();
      }
    };
  }

  /** What a part cannot read must not keep it from opening ever after. */
  async #startWithoutOwn(loaded: LoadedPlugin): Promise<void> {
    const state = this.#states?.get(loaded.name);
    if (state?.get(ownKey) === undefined) return;
    state.delete(ownKey);
    await this.#start(loaded);
  }

  async close(isForGood: boolean): Promise<void> {
    this.#isClosed = true;
    for (const [loaded, part] of this.#parts) await this.#close(loaded, part, isForGood);
  }

  async #close(loaded: LoadedPlugin, part: SessionPart, isForGood: boolean): Promise<void> {
    // The session may end while a part is about to be opened anew.
    if (this.#closed.has(part)) return;
    this.#closed.add(part);
    try {
      await closeWithin(() => part.close?.(isForGood));
    } catch (error) {
      const session = shortId(this.#session.info.id);
      this.#kernel.log.error("a plugin could not close a session", { plugin: loaded.name, session, error });
    }
  }
}

function toPart(loaded: LoadedPlugin, part: SessionPart): SessionPart {
  const handlers: unknown = (part as SessionPart | null | undefined)?.handlers;
  if (typeof handlers === "object" && handlers !== null) return part;
  throw new Error(`plugin "${loaded.name}" opened a session without handlers`);
}

/** Waits for all even where one fails: an agent that tries again must not find a plugin half open. */
async function allOrFirstFailure(work: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
}

/** To the end even where one fails. */
async function oneAfterTheOther(work: readonly (() => Promise<unknown>)[]): Promise<void> {
  const done: Promise<unknown>[] = [];
  for (const each of work) {
    const doing = each();
    done.push(doing);
    await doing.catch(() => {});
  }
  await allOrFirstFailure(done);
}
