// A host with one small capability and a peer that speaks lines: for the tests of this folder.

import { z } from "zod";
import { keepSessions } from "../../durability/keep-sessions.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import { type Handlers, type Plugin, plugin, type SessionPart } from "../../plugin/plugin.ts";
import type { PluginEntry } from "../../plugin/plugin-set.ts";
import type { Message } from "../../protocol/envelope.ts";
import { jsonObject } from "../../protocol/json.ts";
import { call, capability } from "../../protocol/table/capability.ts";
import { type RecordHostOptions, recordHost } from "../../recording/recorded-host.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { type CapturedLog, createCapturedLog } from "../../testing/captured-log.ts";
import { A2EHost, type HostOptions } from "../host.ts";
import type { AuditEntry } from "../ports/audit.ts";
import type { KeptSession } from "../ports/session-keeping.ts";
import type { Session } from "../session.ts";

const request = z.object({ name: z.string().default(""), data: jsonObject.default({}) });
const result = z.object({ value: z.string(), data: jsonObject.optional() });
const example = { request: { name: "a" }, result: { value: "a" } };

/** A capability whose calls do whatever a test wants. */
export const probe = capability("test", {
  doc: "Runs what a test hands in.",
  errors: { probe_failed: { retryable: true, doc: "The probe failed on purpose." } },
  calls: {
    run: call("test/run/req", "test/run/resp", { about: { access: "write" }, doc: "Runs.", request, result, example }),
    other: call("test/other/req", "test/other/resp", {
      about: { access: "write" },
      doc: "Runs as well.",
      request,
      result,
      example,
    }),
  },
});

/** Another one, for what is not negotiated. */
export const side = capability("env", {
  doc: "Stands beside the probe.",
  event: "env/event",
  calls: {
    run: call("env/run/req", "env/run/resp", { about: { access: "write" }, doc: "Runs.", request, result, example }),
  },
});

export type Run = Handlers<typeof probe>["run"];

export const echo: Run = ({ name }) => ({ value: name });

export function probePlugin(run: Run = echo, other: Run = echo, part: Partial<SessionPart> = {}): Plugin<typeof probe> {
  return plugin(probe, { session: () => ({ ...part, handlers: { run, other } }) });
}

export function sidePlugin(run: Run = echo): Plugin<typeof side> {
  return plugin(side, { session: () => ({ handlers: { run } }) });
}

/** A peer on a session: sends lines, keeps what comes back. */
export class RawPeer {
  readonly session: Session;
  readonly received: Message[] = [];
  readonly #reader: ReturnType<Session["attach"]>;
  readonly #waiters = new Set<() => void>();

  constructor(session: Session) {
    this.session = session;
    this.#reader = session.attach(0, () => this.read());
    this.read();
  }

  /** Takes what is there without waiting to be woken. */
  read(): void {
    for (let lines = this.#reader.read(1e9); lines.length > 0; lines = this.#reader.read(1e9))
      for (const { line } of lines) this.received.push(JSON.parse(line) as Message);
    for (const check of [...this.#waiters]) check();
  }

  send(message: object): void {
    this.session.receiveLine(JSON.stringify(message));
  }

  request(id: string, name = "", type: string = probe.calls.run.type): void {
    this.send({ type, id, version: "1.0", name });
  }

  shakeHands(fields: object = {}): Promise<Message> {
    const id = `handshake-${this.received.length}-${Math.random()}`;
    const agent = { agent_id: "agent", agent_caps: ["test", "env"] };
    this.send({ type: "handshake/req", id, version: "1.0", a2e: "1.0", ...agent, ...fields });
    return this.answer(id);
  }

  /** Everything that answers this id; events are not answers. */
  answers(id: string): Message[] {
    return this.received.filter((message) => message.req_id === id && !message.type.endsWith("/event"));
  }

  events(id: string): Message[] {
    return this.received.filter((message) => message.req_id === id && message.type.endsWith("/event"));
  }

  async answer(id: string): Promise<Message> {
    await this.until(() => this.answers(id).length > 0);
    return this.answers(id)[0] as Message;
  }

  async ask(id: string, name = "", type?: string): Promise<Message> {
    this.request(id, name, type);
    return this.answer(id);
  }

  /** Resolves once what was received fulfils the condition; nothing is polled. */
  async until(isFulfilled: () => boolean): Promise<void> {
    if (isFulfilled()) return;
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!isFulfilled()) return;
        this.#waiters.delete(check);
        resolve();
      };
      this.#waiters.add(check);
    });
  }

  /** The answer to a ping: whatever was sent before it has been handled, if it could be handled at once. */
  async settle(): Promise<void> {
    const id = `ping-${Math.random()}`;
    this.send({ type: "ping", id });
    await this.answer(id);
  }

  close(): void {
    this.#reader.close();
  }
}

export interface RawHost {
  /** The parts of a session that its users do not see. */
  inside(session: Session): KeptSession;
  readonly host: A2EHost;
  readonly log: CapturedLog;
  readonly audit: AuditEntry[];
  /** A new session with a peer on it, that has not shaken hands. */
  connect(): RawPeer;
  /** The same, and it has. */
  open(fields?: object): Promise<RawPeer>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startRawHost(
  plugins: readonly (Plugin | PluginEntry)[] = [probePlugin()],
  { recordings, replay, ...options }: Partial<HostOptions & RecordHostOptions> = {},
): Promise<RawHost> {
  const log = createCapturedLog();
  const audit: AuditEntry[] = [];
  const insides = new Map<string, KeptSession>();
  const given: HostOptions = {
    keeping: (kernel, sessions) => {
      const keeping = keepSessions(kernel, sessions);
      return {
        ...keeping,
        open(session, isKnown) {
          insides.set(session.scope.info.id, session);
          return keeping.open(session, isKnown);
        },
      };
    },
    snapshots: createMemorySnapshotStore(),
    audit: { record: (entry) => void audit.push({ ...entry }), close: async () => {} },
    ...options,
    plugins,
    log,
  };
  const host = await A2EHost.start(
    recordings === undefined ? given : recordHost(given, { recordings, ...(replay === undefined ? {} : { replay }) }),
  );
  const connect = () => new RawPeer(host.sessions.create());
  return {
    host,
    log,
    audit,
    inside: (session) => insides.get(session.id) as KeptSession,
    connect,
    async open(fields) {
      const peer = connect();
      await peer.shakeHands(fields);
      return peer;
    },
    [Symbol.asyncDispose]: () => host.close(0),
  };
}

/** A handler that waits until it is let go, and what lets it go: by the name in its request. */
export function createGate(): {
  run: Run;
  started: string[];
  contexts: Map<string, CallContext>;
  release(name: string): void;
  readonly maxRunning: number;
} {
  const waiting = new Map<string, () => void>();
  const contexts = new Map<string, CallContext>();
  const started: string[] = [];
  let running = 0;
  let maxRunning = 0;
  return {
    started,
    contexts,
    get maxRunning() {
      return maxRunning;
    },
    release: (name) => waiting.get(name)?.(),
    async run({ name }, context) {
      started.push(name);
      contexts.set(name, context);
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await new Promise<void>((resolve) => waiting.set(name, resolve));
      running -= 1;
      return { value: name };
    },
  };
}
