// Runs a recorded session again, apart from everything real, and finds the first line in which it differs.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { A2EHost, HostOptions } from "../host/host.ts";
import type { SessionSnapshot } from "../host/ports/snapshot-store.ts";
import type { SessionBeginning } from "../host/session/session-origin.ts";
import type { Session } from "../host/session.ts";
import { LayeredState } from "../machinery/state/layered-state.ts";
import { createIdSource, type Message, systemClock } from "../protocol/envelope.ts";
import type { JsonObject, JsonValue } from "../protocol/json.ts";
import type { Limits } from "../protocol/limits.ts";
import type { TypeRegistry } from "../protocol/table/registry.ts";
import { everything } from "../rights/rights.ts";
import { findDifference, withoutCheckpoint } from "./difference.ts";
import { type PendingEffect, Player, streamOf } from "./player.ts";
import { replayHost } from "./recorded-host.ts";
import type { RecordedTools } from "./recorded-tools.ts";
import {
  parseRecording,
  type Recording,
  type RecordingEntry,
  RecordingError,
  type RecordingHeader,
} from "./recording.ts";
import type { Divergence, ReplayReport } from "./replay-report.ts";
import { afterMicrotasks, callOfEffect, createScopes } from "./tape.ts";

export interface ReplayOptions {
  /**
   * Starts a host with the plugins of the recorded host and empty stores, as by `A2EHost.start(prepare({ plugins,
   * snapshots }))`. It is closed at the end.
   */
  startHost(prepare: (options: HostOptions) => HostOptions): Promise<A2EHost>;
  /** Runs tools again, with all they do, in place of taking their results from the recording. */
  mustRunTools?: boolean;
  /** How long to wait for a line that the recording has. */
  waitMs?: number;
}

/** Rejects with a RecordingError if the text cannot be replayed. */
export async function replayRecording(text: string, options: ReplayOptions): Promise<ReplayReport> {
  const { startHost, mustRunTools = false, waitMs = 10_000 } = options;
  const recording = parseRecording(text);
  const { header } = recording;
  const scopes = createScopes();
  const sources = { clock: systemClock, nextId: createIdSource(), random: Math.random };
  const player = new Player({ recording, scopes, sources, mustRunTools });
  let registry: TypeRegistry = new Map();
  const host = await startHost((given) => {
    const prepared = replayHost(
      {
        ...given,
        limits: { ...allowed, ...(header.host.limits as Partial<Limits>), ...unlimited },
        isHandshakeRequired: header.host.is_handshake_required,
        snapshotMode: header.host.snapshot_mode,
        // The rights are in the recording: this only makes the host ask for them.
        ...(header.host.is_authorizing === true ? { authorize: () => everything } : {}),
      },
      header.session_id,
      player,
      scopes,
    );
    ({ registry } = prepared);
    return prepared.options;
  });
  try {
    checkPlugins(host, header);
    const session = host.sessions.open(header.session_id, toBeginning(header));
    return await new Replay(recording, player, session, registry, waitMs).run();
  } finally {
    await host.close(0);
  }
}

/** Recordings of earlier hosts do not name these limits. */
const allowed = {
  maxLinesBeforeHandshake: Number.POSITIVE_INFINITY,
  maxBytesBeforeHandshake: Number.POSITIVE_INFINITY,
};

/** The recording says when lines are handled; how long a turn takes here, and who reads, must not change that. */
const unlimited = {
  // Forks that were ended then are not ended here.
  maxSessions: Number.POSITIVE_INFINITY,
  intakeSliceMs: Number.POSITIVE_INFINITY,
  maxUnsentBytes: Number.POSITIVE_INFINITY,
};

/** The result of playing an entry. */
type Played = Divergence | undefined;

class Replay {
  readonly #recording: Recording;
  readonly #player: Player;
  readonly #session: Session;
  readonly #registry: TypeRegistry;
  readonly #waitMs: number;
  readonly #requestTypes = new Map<string, string>();
  /** Requests that others put an end to. */
  readonly #cutOff = new Set<string>();
  #messages = 0;

  constructor(recording: Recording, player: Player, session: Session, registry: TypeRegistry, waitMs: number) {
    this.#recording = recording;
    this.#player = player;
    this.#session = session;
    this.#registry = registry;
    this.#waitMs = waitMs;
  }

  async run(): Promise<ReplayReport> {
    const { cut } = this.#recording;
    const divergence = await this.#findDivergence();
    return {
      messages: this.#messages,
      is_identical: divergence === undefined,
      ...(cut === undefined ? {} : { cut }),
      ...(divergence === undefined ? {} : { divergence }),
    };
  }

  /**
   * Entries from outside are played in the order of the recording, each after the lines that the session had sent
   * before it.
   */
  async #findDivergence(): Promise<Divergence | undefined> {
    for (const entry of this.#recording.entries) {
      const played = this.#play(entry);
      // Lines that arrived in the same turn are played in the same turn, without an await in between.
      const divergence = played instanceof Promise ? await played : played;
      if (divergence !== undefined) return divergence;
    }
    // A recording that was cut may lack the answers to its last requests.
    return this.#recording.cut === undefined ? this.#findLeftLine() : undefined;
  }

  #play(entry: RecordingEntry): Played | Promise<Played> {
    switch (entry[0]) {
      case "turn":
        return afterMicrotasks();
      case "in":
        this.#receive(entry[1]);
        return undefined;
      case "expire":
        this.#player.expire(entry[1]);
        return undefined;
      case "out":
        return this.#compareNext(entry[1]);
      case "aside":
        return this.#hearAside(entry[1], entry[2]);
      case "message":
        return this.#deliver(entry[1], entry[2]);
      case "tools":
        return this.#changeTools(entry[1]);
      case "event": {
        const [, id, isAtOnce, kind, data] = entry;
        return isAtOnce ? undefined : this.#release(id, (effect) => effect.emit(kind, data as JsonObject));
      }
      case "effect": {
        const [, id, , , outcome] = entry;
        return this.#release(id, (effect) => effect.settle(outcome));
      }
      default:
        return undefined;
    }
  }

  #receive(line: string | null): void {
    if (line === null) return this.#session.receiveTooLong();
    this.#noteRequest(line);
    this.#session.receiveLine(line);
  }

  #noteRequest(line: string): void {
    try {
      const { id, type } = JSON.parse(line) as { id?: unknown; type?: unknown };
      if (typeof id === "string" && typeof type === "string") this.#requestTypes.set(id, type);
    } catch {
      // A line that is not JSON was rejected in the recording, and is rejected now.
    }
  }

  /**
   * A line sent by other sessions or by an effect. An effect that runs again must send it before its answer is played.
   */
  #hearAside(line: string, effectId: string | undefined): Promise<undefined> | undefined {
    const message = JSON.parse(line) as Message;
    const stream = streamOf(line);
    if (effectId === undefined && stream !== "") this.#cutOff.add(stream);
    if (effectId !== undefined && this.#player.isRunAgain(effectId)) return this.#waitForAside(message.id);
    this.#player.recallAside(message, this.#registry);
    return undefined;
  }

  async #waitForAside(lineId: string): Promise<undefined> {
    await this.#waitFor(() => this.#player.hasSaidAside(lineId) || undefined);
  }

  async #deliver(id: string, message: JsonValue): Promise<Divergence | undefined> {
    if (!this.#player.isReached(id)) return undefined;
    // Running code of the session continues first.
    await nextTurn();
    const receive = await this.#waitFor(() => this.#player.receiver(id));
    if (receive === undefined) return this.#diverge(callOfEffect(id), { field: "" }, "nobody received what had come");
    try {
      receive(message);
    } catch {
      // The receiver threw in the recording too.
    }
    await nextTurn();
    return undefined;
  }

  async #changeTools(tools: RecordedTools): Promise<undefined> {
    // As above, with the tools as they were until now.
    await nextTurn();
    this.#player.changeTools(tools);
  }

  #compareNext(expected: string): Played | Promise<Played> {
    const stream = streamOf(expected);
    const found = this.#player.nextLine(stream);
    if (found !== undefined) return this.#compare(stream, expected, found);
    return this.#waitFor(() => this.#player.nextLine(stream)).then((late) => this.#compare(stream, expected, late));
  }

  #compare(stream: string, expected: string, found: string | undefined): Played {
    if (found === undefined)
      return this.#diverge(
        stream,
        { field: "", expected: JSON.parse(expected) as JsonValue },
        "nothing was said in time",
      );
    const difference = findDifference(withoutCheckpoint(expected), found);
    if (difference !== undefined) return this.#diverge(stream, difference);
    this.#messages += 1;
    return undefined;
  }

  #release(id: string, go: (effect: PendingEffect) => void): Promise<Played> | undefined {
    return this.#player.isWaitedFor(id) ? this.#releaseWaiting(id, go) : undefined;
  }

  async #releaseWaiting(id: string, go: (effect: PendingEffect) => void): Promise<Played> {
    const effect = await this.#waitFor(() => this.#player.pending(id));
    if (effect === undefined)
      return this.#diverge(callOfEffect(id), { field: "" }, "the call did not use what it had used");
    go(effect);
    // The code that waited for the effect continues before the next entry.
    await nextTurn();
    return undefined;
  }

  async #findLeftLine(): Promise<Divergence | undefined> {
    await nextTurn();
    const line = this.#player.leftLine(this.#cutOff);
    if (line === undefined) return undefined;
    return this.#diverge(
      streamOf(line),
      { field: "", found: JSON.parse(line) as JsonValue },
      "the recording has no such line",
    );
  }

  async #waitFor<Thing>(take: () => Thing | undefined): Promise<Thing | undefined> {
    const deadline = performance.now() + this.#waitMs;
    for (;;) {
      const thing = take();
      const left = deadline - performance.now();
      if (thing !== undefined || left <= 0) return thing;
      await this.#player.changed(left);
    }
  }

  #diverge(stream: string, where: Pick<Divergence, "field" | "expected" | "found">, about?: string): Divergence {
    const { missing } = this.#player;
    const notes = [about, missing === undefined ? undefined : `the recording lacks ${missing}`].filter(
      (note) => note !== undefined,
    );
    return {
      message: this.#messages + 1,
      req_id: stream,
      request_type: this.#requestTypes.get(stream) ?? "",
      ...where,
      ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
    };
  }
}

function checkPlugins(host: A2EHost, { host: { plugins } }: RecordingHeader): void {
  const missing = plugins.filter(
    ({ name, capability }) =>
      !host.plugins.some((loaded) => loaded.name === name && loaded.plugin.capability.name === capability),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ name, capability }) => (name === capability ? name : `${name} (${capability})`));
  throw new RecordingError(`the recorded host had plugins that this one lacks: ${names.join(", ")}`);
}

function toBeginning({ origin, restore_from }: RecordingHeader): SessionBeginning {
  if (origin !== undefined) {
    const states = new Map(
      Object.entries(origin.states).map(([name, state]) => [
        name,
        LayeredState.fromLayers([new Map(Object.entries(state))]),
      ]),
    );
    return { origin: { ...origin, states } };
  }
  if (restore_from === undefined) return {};
  return { restoreFrom: { snapshot_id: restore_from.snapshot_id, state: restore_from.state as SessionSnapshot } };
}
