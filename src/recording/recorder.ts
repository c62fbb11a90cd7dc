// Records the lines that a session receives and sends, and the values it takes from outside. Never fails or delays a
// call: a value that cannot be recorded ends the recording.

import { createHash } from "node:crypto";
import type { TapCause } from "../host/session/session-tap.ts";
import type { Sources } from "../host/sources.ts";
import type { Expirable } from "../machinery/pacing/deadlines.ts";
import { type CallContext, replaceIn } from "../plugin/call-context.ts";
import type { AsWritten } from "../plugin/plugin.ts";
import type { ToolCatalogue } from "../plugin/tool-catalogue.ts";
import { isThenable } from "../protocol/awaitable.ts";
import type { JsonValue } from "../protocol/json.ts";
import type { Concealment } from "./concealment.ts";
import { toRecordedError } from "./recorded-error.ts";
import { ToolsOnRecord } from "./recorded-tools.ts";
import type { Outcome, RecordingEntry, RecordingHeader } from "./recording.ts";
import {
  afterMicrotasks,
  CallScopes,
  createSources,
  type EffectKind,
  type Scope,
  type Scopes,
  scopeOfCall,
  scopeOfEffect,
  type Tape,
} from "./tape.ts";

/** The storage of recordings, one per session and run of the host. */
export interface Recordings {
  /** Never throws: a recording that cannot be written is lost, and the log says so. */
  create(sessionId: string): RecordingFile;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

export interface RecordingFile {
  /** Takes whole lines and returns at once. */
  write(lines: string): void;
  /** Everything written so far; undefined if a part of it is lost. */
  read(): Promise<string | undefined>;
  close(): void;
}

interface RecorderOptions {
  header: RecordingHeader;
  file: RecordingFile;
  scopes: Scopes;
  sources: Sources;
  maxBytes: number;
  concealment: Concealment;
}

export class Recorder implements Tape {
  readonly sources: Sources;
  readonly outside = new Set<string>();
  readonly #file: RecordingFile;
  readonly #scopes: Scopes;
  readonly #concealment: Concealment;
  readonly #session = scopeOfCall(this, "");
  readonly #callScopes = new CallScopes();
  /** The ids of this session and of those that it was forked from or has forked, each with the name in the recording. */
  readonly #idNames = new Map<string, string>();
  #bytesLeft: number;
  #tools: ToolsOnRecord | undefined;
  /** Whether a line has arrived, and whether all work that it started has proceeded as far as it could. */
  #turn: "none" | "begun" | "over" = "none";
  #isEnded = false;

  constructor({ header, file, scopes, sources, maxBytes, concealment }: RecorderOptions) {
    this.#file = file;
    this.#scopes = scopes;
    this.#concealment = concealment;
    this.#bytesLeft = maxBytes;
    this.sources = createSources(this, sources);
    this.#hideId(header.session_id);
    if (header.origin?.record.parent !== undefined) this.#hideId(header.origin.record.parent);
    this.#writeLine(() => header);
  }

  enter(cause: TapCause, work: () => void): void {
    if (cause.kind === "call")
      return this.#scopes.run(scopeOfCall(this, this.#callScopes.begin(cause.call, this.sources)), work);
    if (cause.kind === "line" && cause.line !== undefined) {
      const { line } = cause;
      this.#noteTurn();
      this.#write(() => ["in", line === null ? null : this.#concealment.ofLine(line)]);
    }
    this.#scopes.run(this.#session, work);
  }

  expiring(item: Expirable): Expirable {
    const id = this.#callScopes.of(item);
    return {
      id,
      session: item.session,
      get expiresAt() {
        return item.expiresAt;
      },
      expire: () => {
        this.#noteTurn();
        this.#write(() => ["expire", id]);
        this.#scopes.run(scopeOfCall(this, id), () => item.expire());
      },
    };
  }

  sent(line: string): void {
    const scope = this.#scope;
    if (scope === undefined) this.#write(() => ["aside", line]);
    else this.#write(() => (scope.isEffect ? ["aside", line, scope.id] : ["out", line]));
  }

  value<Value>(kind: string, produce: () => Value): Value {
    const scope = this.#scope;
    if (scope === undefined) return produce();
    try {
      const value = produce();
      if (kind === "session" && typeof value === "string") this.#hideId(value);
      this.#write(() =>
        value === undefined ? ["value", scope.id, kind] : ["value", scope.id, kind, value as JsonValue],
      );
      return value;
    } catch (error) {
      this.#write(() => ["thrown", scope.id, kind, toRecordedError(error)]);
      throw error;
    }
  }

  failed(kind: string, error: unknown): void {
    const scope = this.#scope;
    if (scope !== undefined) this.#write(() => ["thrown", scope.id, kind, toRecordedError(error)]);
  }

  effect<Result>(kind: EffectKind, run: (context: CallContext) => Result, context?: CallContext): Result {
    const scope = this.#scope;
    if (scope === undefined) return run(context as CallContext);
    const inner = scopeOfEffect(scope);
    const { id } = inner;
    let mustRunAgain = false;
    let isAtOnce = true;
    const settle = (outcome: Outcome) => {
      if (!mustRunAgain) this.#write(() => ["effect", id, kind, isAtOnce, outcome]);
    };
    // Recorded when the call is made, not at the end of the effect, which a tool that is cut off never reaches.
    const callingBack = () => {
      settle({ again: true });
      mustRunAgain = true;
    };
    const watched = () =>
      context &&
      replaceIn(context, {
        emit: (event, data) => {
          this.#write(() => ["event", id, isAtOnce, event, data]);
          this.#scopes.run(scope, () => context.emit(event, data));
        },
        get call() {
          callingBack();
          return context.call;
        },
        get callNow() {
          callingBack();
          return context.callNow;
        },
      });
    try {
      // In a scope of its own: values drawn inside are not needed if a replay takes the result from the recording.
      const result = this.#scopes.run(inner, () => run(watched() as CallContext));
      if (!isThenable(result)) {
        settle({ value: result as JsonValue });
        return result;
      }
      isAtOnce = false;
      return (result as PromiseLike<unknown>).then(
        (value) => {
          settle({ value: value as JsonValue });
          return value;
        },
        (error: unknown) => {
          settle({ error: toRecordedError(error) });
          throw error;
        },
      ) as Result;
    } catch (error) {
      settle({ error: toRecordedError(error) });
      throw error;
    }
  }

  fromOutside<Message>(
    receive: (message: Message) => void,
    asWritten: AsWritten<Message> = (message) => message,
  ): (message: Message) => void {
    const scope = this.#scope;
    if (scope === undefined) return receive;
    const { id } = scopeOfEffect(scope);
    return (message) => {
      this.#write(() => ["message", id, asWritten(message, this.#concealment.ofRequest) as JsonValue]);
      this.#scopes.run(scope, () => receive(message));
    };
  }

  opening(): void {}

  showTools(catalogue: ToolCatalogue): void {
    if (this.#isEnded || this.#tools !== undefined) return;
    this.#tools = new ToolsOnRecord(catalogue);
    this.#writeTools();
  }

  read(): Promise<string | undefined> {
    return this.#file.read();
  }

  close(): void {
    this.#end("closed");
  }

  #noteTurn(): void {
    if (this.#turn === "over") this.#write(() => ["turn"]);
    if (this.#turn === "begun") return;
    this.#turn = "begun";
    void afterMicrotasks().then(() => {
      this.#turn = "over";
    });
  }

  /** The current scope, if it belongs to this session. */
  get #scope(): Scope | undefined {
    const scope = this.#scopes.getStore();
    return scope?.tape === this ? scope : undefined;
  }

  #end(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#tools?.close();
    this.#file.write(`${JSON.stringify(["end", reason])}\n`);
    this.#file.close();
  }

  #write(entry: () => RecordingEntry): void {
    this.#writeTools();
    this.#writeLine(entry);
  }

  /** A session id is a secret: a peer that has it can act in the session. A replay runs under the name instead. */
  #hideId(sessionId: string): void {
    this.#idNames.set(sessionId, toRecordedId(sessionId));
  }

  #withoutIds(text: string): string {
    let hidden = text;
    for (const [id, name] of this.#idNames) if (hidden.includes(id)) hidden = hidden.replaceAll(id, name);
    return hidden;
  }

  #writeTools(): void {
    const tools = this.#isEnded ? undefined : this.#tools?.take();
    if (tools !== undefined) this.#writeLine(() => ["tools", tools]);
  }

  #writeLine(content: () => RecordingEntry | RecordingHeader): void {
    if (this.#isEnded) return;
    try {
      const line = `${this.#withoutIds(JSON.stringify(content()))}\n`;
      this.#bytesLeft -= line.length;
      if (this.#bytesLeft < 0) return this.#end("maxRecordingBytes was reached");
      this.#file.write(line);
    } catch (error) {
      this.#end(`a value had no JSON form: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** Has the shape of a session id, so that lines keep their lengths. An id is random, so its digest reveals nothing. */
function toRecordedId(sessionId: string): string {
  const digits = createHash("sha256").update(sessionId).digest("hex");
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20, 32),
  ].join("-");
}
