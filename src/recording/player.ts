// Gives a session the recorded values and results instead of those from outside, and collects the lines that the
// session sends.

import type { TapCause } from "../host/session/session-tap.ts";
import type { Sources } from "../host/sources.ts";
import type { Expirable } from "../machinery/pacing/deadlines.ts";
import { type CallContext, replaceIn } from "../plugin/call-context.ts";
import type { SessionContext } from "../plugin/plugin.ts";
import type { ToolCatalogue } from "../plugin/tool-catalogue.ts";
import { withdrawn } from "../protocol/core.ts";
import type { Message } from "../protocol/envelope.ts";
import type { JsonObject, JsonValue } from "../protocol/json.ts";
import type { TypeRegistry } from "../protocol/table/registry.ts";
import { fromRecordedError, type RecordedError } from "./recorded-error.ts";
import { type RecordedTools, ToolsFromRecord } from "./recorded-tools.ts";
import type { Outcome, Recording } from "./recording.ts";
import {
  CallScopes,
  createSources,
  type EffectKind,
  outerEffect,
  type Scope,
  type Scopes,
  scopeOfCall,
  scopeOfEffect,
  type Tape,
} from "./tape.ts";

type RecordedValue = { value: JsonValue | undefined } | { thrown: RecordedError };

interface RecordedEffect {
  kind: EffectKind;
  isAtOnce: boolean;
  outcome: Outcome;
}

type RecordedEvent = [kind: string, data: JsonObject];

/** An effect that a call waits for. */
export interface PendingEffect {
  emit(kind: string, data: JsonObject): void;
  settle(outcome: Outcome): void;
}

interface PlayerOptions {
  recording: Recording;
  scopes: Scopes;
  /** The real sources, used for values that the recording lacks. */
  sources: Omit<Sources, "startedAt">;
  mustRunTools: boolean;
}

export class Player implements Tape {
  readonly sources: Sources;
  readonly outside = new Set<string>();
  /** The first thing the session asked for and the recording does not have. */
  missing: string | undefined;
  readonly #scopes: Scopes;
  readonly #mustRunTools: boolean;
  readonly #isBeforeFormat3: boolean;
  readonly #session = scopeOfCall(this, "");
  readonly #callScopes = new CallScopes();
  /** Questions that the session asks in place of an effect that is not run, and the id of the next such question. */
  readonly #aside = scopeOfCall(this, "aside");
  #asideId: string | undefined;
  readonly #asides = new Map<string, AbortController>();
  readonly #expiring = new Map<string, Expirable>();
  #context: SessionContext | undefined;
  /** By scope and kind; the next value is at the end of its list. */
  readonly #values = new Map<string, RecordedValue[]>();
  readonly #effects = new Map<string, RecordedEffect>();
  /** Those that effects sent as they began. */
  readonly #events = new Map<string, RecordedEvent[]>();
  readonly #pending = new Map<string, PendingEffect>();
  readonly #receivers = new Map<string, (message: JsonValue) => void>();
  /** Lines by the request they belong to: those of calls that ran at once may come in another order. */
  readonly #said = new Map<string, string[]>();
  /** Ids of the lines sent by effects that run again. */
  readonly #saidAside = new Set<string>();
  /** The tools of other plugins when the session first listed its tools. */
  readonly #firstTools: RecordedTools | undefined;
  #tools: ToolsFromRecord | undefined;
  #wake = () => {};

  constructor({ recording, scopes, sources, mustRunTools }: PlayerOptions) {
    this.#scopes = scopes;
    this.#mustRunTools = mustRunTools;
    this.#isBeforeFormat3 = recording.header.a2e_recording < 3;
    this.sources = createSources(this, { ...sources, startedAt: recording.header.host.started_at });
    for (const entry of recording.entries) {
      if (entry[0] === "value") add(this.#values, keyOf(entry[1], entry[2]), { value: entry[3] });
      else if (entry[0] === "thrown") add(this.#values, keyOf(entry[1], entry[2]), { thrown: entry[3] });
      else if (entry[0] === "event" && entry[2]) add(this.#events, entry[1], [entry[3], entry[4] as JsonObject]);
      else if (entry[0] === "effect") {
        const [, id, kind, isAtOnce, outcome] = entry;
        this.#effects.set(id, { kind, isAtOnce, outcome });
      }
    }
    for (const values of this.#values.values()) values.reverse();
    this.#firstTools = recording.entries.find((entry) => entry[0] === "tools")?.[1];
  }

  enter(cause: TapCause, work: () => void): void {
    if (cause.kind === "call")
      return this.#scopes.run(scopeOfCall(this, this.#callScopes.begin(cause.call, this.sources)), work);
    if (this.#isBeforeFormat3) return this.#enterBeforeFormat3(cause, work);
    this.#scopes.run(this.#session, work);
  }

  /**
   * Before format 3, a held message took the time twice: from the session when it was received, and from the call that
   * opened the plugins when it was handled.
   */
  #enterBeforeFormat3({ kind }: TapCause, work: () => void): void {
    if (kind === "held") return work();
    const times = this.#values.get(keyOf(this.#session.id, "now"));
    const count = times?.length;
    this.#scopes.run(this.#session, work);
    if (kind === "line" && times?.length === count) times?.pop();
  }

  /** Calls expire when the recording says so, regardless of the current time. */
  expiring(item: Expirable): undefined {
    this.#expiring.set(this.#callScopes.of(item), item);
  }

  /** The time of a call or a question was over. */
  expire(id: string): void {
    const item = this.#expiring.get(id);
    this.#expiring.delete(id);
    this.#scopes.run(scopeOfCall(this, id), () => item?.expire());
  }

  opening(context: SessionContext): void {
    this.#context ??= context;
  }

  /**
   * An effect that is not run again sent this line. If the line was a question, the session must accept its recorded
   * answer: so the same question is asked under its id, without a caller that waits for it.
   */
  recallAside(message: Message, registry: TypeRegistry): void {
    const entry = registry.get(message.type);
    if (message.type === withdrawn.type) this.#asides.get(String(message.ask_id))?.abort();
    if (entry?.kind !== "ask" || this.#context === undefined) return;
    const { ask } = this.#context;
    const controller = new AbortController();
    this.#asides.set(message.id, controller);
    this.#asideId = message.id;
    this.#scopes.run(this.#aside, () => {
      ask(entry.call, message, { signal: controller.signal }).catch(() => {});
    });
    this.#asideId = undefined;
  }

  sent(line: string): void {
    const scope = this.#scopes.getStore();
    if (scope?.tape !== this || scope === this.#aside) return;
    if (scope.isEffect) this.#saidAside.add((JSON.parse(line) as { id: string }).id);
    else add(this.#said, streamOf(line), line);
    this.#wake();
  }

  value<Value>(kind: string, produce: () => Value): Value {
    const scope = this.#scopes.getStore();
    if (scope?.tape !== this) return produce();
    if (scope === this.#aside)
      return kind === "id" && this.#asideId !== undefined ? (this.#asideId as Value) : produce();
    const recorded = this.#values.get(keyOf(scope.id, kind))?.pop();
    if (recorded === undefined) return this.#drawMissing(kind, scope, produce);
    if ("thrown" in recorded) throw fromRecordedError(recorded.thrown);
    return recorded.value as Value;
  }

  /**
   * A missing time or id can be generated, and then shows as a difference in the answer; a missing database result
   * cannot.
   */
  #drawMissing<Value>(kind: string, { id }: Scope, produce: () => Value): Value {
    const what = kind.startsWith("sql ") ? "a look into the database" : `a value of kind "${kind}"`;
    this.#miss(`${what}${id === "" ? "" : ` in the call ${id}`}`);
    if (kind.startsWith("sql ")) throw new Error("the recording has no result of this statement");
    return produce();
  }

  failed(): void {}

  effect<Result>(kind: EffectKind, run: (context: CallContext) => Result, context?: CallContext): Result {
    const scope = this.#scopes.getStore();
    if (scope?.tape !== this) return run(context as CallContext);
    const inner = scopeOfEffect(scope);
    const { id } = inner;
    const emit: CallContext["emit"] = (event, data) => this.#scopes.run(scope, () => context?.emit(event, data));
    const recorded = this.#effects.get(id);
    if (this.#mustRun(kind, recorded)) {
      const inScope = context && replaceIn(context, { emit });
      return this.#scopes.run(inner, () => run(inScope as CallContext));
    }
    for (const [event, data] of this.#events.get(id) ?? []) emit(event, data);
    if (recorded?.isAtOnce) return settleNow(recorded.outcome) as Result;
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) => {
        if ("error" in outcome) reject(fromRecordedError(outcome.error));
        else resolve("value" in outcome ? outcome.value : undefined);
      };
      this.#pending.set(id, { emit, settle });
      this.#wake();
    }) as Result;
  }

  #mustRun(kind: EffectKind, recorded: RecordedEffect | undefined): boolean {
    return (kind === "tool" && this.#mustRunTools) || (recorded !== undefined && "again" in recorded.outcome);
  }

  /**
   * Whether the session waits for this effect until the recording continues. An effect without an end belongs to a
   * tool that was cut off.
   */
  isWaitedFor(id: string): boolean {
    return this.isReached(id) && !this.isRunAgain(id) && this.#effects.get(id)?.isAtOnce !== true;
  }

  /** False for effects within an effect that is not run again. */
  isReached(id: string): boolean {
    const outer = outerEffect(id);
    return outer === undefined || (this.isRunAgain(outer) && this.isReached(outer));
  }

  fromOutside<Message>(receive: (message: Message) => void): (message: Message) => void {
    const scope = this.#scopes.getStore();
    if (scope?.tape !== this) return receive;
    const deliver = (message: JsonValue) => this.#scopes.run(scope, () => receive(message as Message));
    this.#receivers.set(scopeOfEffect(scope).id, deliver);
    this.#wake();
    return () => {};
  }

  /** The receiver of messages from outside to the effect of this id. */
  receiver(id: string): ((message: JsonValue) => void) | undefined {
    return this.#receivers.get(id);
  }

  showTools(catalogue: ToolCatalogue): void {
    if (this.#tools !== undefined) return;
    this.#tools = new ToolsFromRecord(catalogue);
    this.#tools.show(this.#firstTools ?? []);
  }

  /**
   * From here on the other plugins offered these tools. It runs outside of any scope, so the lines that the session
   * sends about it are not compared.
   */
  changeTools(tools: RecordedTools): void {
    if (tools !== this.#firstTools) this.#scopes.run(undefined, () => this.#tools?.show(tools));
  }

  /** Whether an effect that is run again has sent the line of this id. */
  hasSaidAside(lineId: string): boolean {
    return this.#saidAside.has(lineId);
  }

  /**
   * Whether this effect is run again. The kind of an effect without an end is not recorded: it counts as a tool unless
   * the session waits for it.
   */
  isRunAgain(id: string): boolean {
    const recorded = this.#effects.get(id);
    return !this.#pending.has(id) && this.#mustRun(recorded?.kind ?? "tool", recorded);
  }

  pending(id: string): PendingEffect | undefined {
    return this.#pending.get(id);
  }

  /** The next line that answers this request; "" stands for lines that are not answers. */
  nextLine(stream: string): string | undefined {
    return this.#said.get(stream)?.shift();
  }

  /** A sent line that the recording does not have, apart from answers to the requests in `except`. */
  leftLine(except: ReadonlySet<string>): string | undefined {
    for (const [stream, [line]] of this.#said) if (line !== undefined && !except.has(stream)) return line;
    return undefined;
  }

  /** Resolves when the session has sent or requested something, or after `withinMs`. */
  async changed(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, withinMs);
    });
    clearTimeout(timer);
  }

  async read(): Promise<undefined> {
    return undefined;
  }

  close(): void {}

  #miss(what: string): void {
    this.missing ??= what;
  }
}

/** The request that a line belongs to. */
export function streamOf(line: string): string {
  const { req_id } = JSON.parse(line) as { req_id?: unknown };
  return typeof req_id === "string" ? req_id : "";
}

function keyOf(scope: string, kind: string): string {
  return `${kind}\n${scope}`;
}

function add<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

function settleNow(outcome: Outcome): JsonValue | undefined {
  if ("error" in outcome) throw fromRecordedError(outcome.error);
  return "value" in outcome ? outcome.value : undefined;
}
