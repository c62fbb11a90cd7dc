// Wraps the options of a host, so that its sessions are recorded or one of them is played from a recording. The kernel
// has no code for it: everything goes through its public ports, the interceptors and the tap.
import { type Authenticate, type Authorize, createTokenAuthentication } from "../host/authentication.ts";
import type { HostOptions } from "../host/host.ts";
import type { CreateTap } from "../host/session/session-origin.ts";
import type { SessionTap } from "../host/session/session-tap.ts";
import { createDeadlines, type Deadlines, type Expirable } from "../machinery/pacing/deadlines.ts";
import type { LoadedPlugin } from "../plugin/plugin.ts";
import { rankPlugins, registryOf, toLoaded } from "../plugin/plugin-set.ts";
import type { Identity } from "../plugin/principal.ts";
import { ToolCatalogue } from "../plugin/tool-catalogue.ts";
import { isThenable } from "../protocol/awaitable.ts";
import { defaultLimits } from "../protocol/limits.ts";
import type { TypeRegistry } from "../protocol/table/registry.ts";
import { Rights } from "../rights/rights.ts";
import { createConcealment } from "./concealment.ts";
import type { Player } from "./player.ts";
import { type Forks, type RunRecording, recordCalls } from "./recorded-calls.ts";
import { recordPlugin } from "./recorded-plugins.ts";
import { recordSnapshots, recordTool } from "./recorded-ports.ts";
import { Recorder, type Recordings } from "./recorder.ts";
import { toHeader } from "./recording-header.ts";
import { createScopes, type Scopes, type Tape, type Tapes } from "./tape.ts";

export interface RecordHostOptions {
  /** Closed with the host. */
  recordings: Recordings;
  /** Replays a recording in a separate host, for `session/replay`. */
  replay?: RunRecording;
}

/** Options for `A2EHost.start` with which every session is recorded. */
export function recordHost(options: HostOptions, { recordings, replay }: RecordHostOptions): HostOptions {
  const scopes = createScopes();
  const plugins = (options.plugins ?? []).map(toLoaded);
  const facts = {
    isHandshakeRequired: options.isHandshakeRequired ?? true,
    snapshotMode: options.snapshotMode ?? "hybrid",
    limits: { ...defaultLimits, ...options.limits },
  } as const;
  const isAuthorizing = options.authorize !== undefined;
  const ranked = [...rankPlugins(plugins).values()].flat();
  const concealment = createConcealment(registryOf(plugins));
  const createTape = (session: Parameters<CreateTap>[0]): Tape =>
    new Recorder({
      header: toHeader(session, { ...facts, isAuthorizing }, ranked),
      file: recordings.create(session.id),
      scopes,
      sources: session.sources,
      maxBytes: facts.limits.maxRecordingBytes,
      concealment,
    });
  const wrapped = wrapHost({ ...options, ...facts }, plugins, { scopes, createTape, isReplay: false, replay });
  const { snapshots } = wrapped;
  return {
    ...wrapped,
    snapshots: {
      ...snapshots,
      async close() {
        await recordings.close();
        await snapshots.close();
      },
    },
  };
}

/** Options for a host in which a single session, with this id, is played. */
export function replayHost(
  options: HostOptions,
  sessionId: string,
  player: Player,
  scopes: Scopes,
): { options: HostOptions; registry: TypeRegistry } {
  const plugins = (options.plugins ?? []).map(toLoaded);
  const createTape = ({ id }: { id: string }) => (id === sessionId ? player : undefined);
  return {
    options: wrapHost(options, plugins, { scopes, createTape, isReplay: true, replay: undefined }),
    registry: registryOf(plugins),
  };
}

interface Edge {
  readonly scopes: Scopes;
  readonly isReplay: boolean;
  readonly replay: RunRecording | undefined;
  readonly createTape: (session: Parameters<CreateTap>[0]) => Tape | undefined;
}

function wrapHost(options: HostOptions, plugins: readonly LoadedPlugin[], edge: Edge): HostOptions {
  const { scopes, isReplay } = edge;
  const tapes: Tapes = new Map();
  const forks: Forks = new Map();
  const { authToken, createSessionId = () => crypto.randomUUID(), log } = options;
  const authenticate = options.authenticate ?? createTokenAuthentication(authToken);
  return {
    ...options,
    plugins: plugins.map((loaded) => recordPlugin(loaded, { scopes, tapes, isReplay })),
    authenticate: recordAuthentication(authenticate, scopes),
    ...(options.authorize === undefined ? {} : { authorize: recordAuthorization(options.authorize, scopes) }),
    createSessionId: () => inScope(scopes, "session", createSessionId),
    snapshots: recordSnapshots(options.snapshots, scopes),
    toolCatalogue: new ToolCatalogue(options.toolCatalogue, (tool) => recordTool(tool, scopes)),
    deadlines: recordDeadlines(options.deadlines ?? createDeadlines(log), tapes),
    interceptors: [...(options.interceptors ?? []), recordCalls(tapes, forks, edge.replay)],
    tap: (session) => {
      const { id, beginning } = session;
      const tape = edge.createTape(session);
      if (tape !== undefined) tapes.set(id, tape);
      const { record, states } = beginning.origin ?? {};
      if (record?.parent !== undefined && states !== undefined) forks.set(id, { parent: record.parent, states });
      const other = options.tap?.(session);
      const tap = join(tape ?? apart(scopes), other);
      return {
        ...(tape === undefined ? {} : { sources: tape.sources }),
        enter: (cause, work) => tap.enter(cause, work),
        sent: (line) => tap.sent(line),
        close() {
          if (tapes.get(id) === tape) tapes.delete(id);
          forks.delete(id);
          tap.close();
        },
      };
    },
  };
}

/** A value that the scope's tape records, or just the value if no session asks for it. */
function inScope<Value>(scopes: Scopes, kind: string, produce: () => Value): Value {
  const scope = scopes.getStore();
  return scope === undefined ? produce() : scope.tape.value(kind, produce);
}

/** The written form of an identity that was not known at once, because the credential was checked elsewhere. */
const notYetKnown = { later: true };

function recordAuthentication(authenticate: Authenticate, scopes: Scopes): Authenticate {
  return (credentials) => {
    const scope = scopes.getStore();
    if (scope === undefined) return authenticate(credentials);
    let later: Promise<Identity | undefined> = Promise.resolve(undefined);
    const known = scope.tape.value("principal", () => {
      const identity = authenticate(credentials);
      if (!isThenable(identity)) return identity;
      later = identity;
      return notYetKnown;
    });
    if (known === undefined || !("later" in known)) return known;
    return scope.tape.effect("outside", () => later);
  };
}

/** The rights are recorded as data, so that a replay needs neither the roles of the config nor its keys. */
function recordAuthorization(authorize: Authorize, scopes: Scopes): Authorize {
  return (principal, session) => {
    let rights: Rights | undefined;
    const data = inScope(scopes, "rights", () => {
      rights = authorize(principal, session);
      return rights.data;
    });
    return rights ?? new Rights(data);
  };
}

/** For a session without a tape: it is not part of the session that forked it. */
function apart(scopes: Scopes): SessionTap {
  return { enter: (_cause, work) => scopes.run(undefined, work), sent() {}, close() {} };
}

function join(tap: SessionTap, other: SessionTap | undefined): SessionTap {
  if (other === undefined) return tap;
  return {
    enter: (cause, work) => tap.enter(cause, () => other.enter(cause, work)),
    sent(line) {
      tap.sent(line);
      other.sent(line);
    },
    close() {
      tap.close();
      other.close();
    },
  };
}

function recordDeadlines(deadlines: Deadlines, tapes: Tapes): Deadlines {
  const timed = new Map<Expirable, Expirable>();
  return {
    add(item) {
      const tape = tapes.get(item.session.id);
      const shown = tape === undefined ? item : tape.expiring(item);
      if (shown === undefined) return;
      timed.set(item, shown);
      deadlines.add(shown);
    },
    delete(item) {
      const shown = timed.get(item);
      timed.delete(item);
      if (shown !== undefined) deadlines.delete(shown);
    },
    close() {
      timed.clear();
      deadlines.close();
    },
  };
}
