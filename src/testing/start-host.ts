// A real host in memory with a client already connected to it: the shortest way to test a plugin.

import { A2EClient, type ClientOptions } from "../client/client.ts";
import { type WithApis, withApis } from "../client/with-apis.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost, type HostOptions } from "../host/host.ts";
import type { Plugin } from "../plugin/plugin.ts";
import type { PluginEntry } from "../plugin/plugin-set.ts";
import type { Capability } from "../protocol/table/capability.ts";
import { recordHost } from "../recording/recorded-host.ts";
import type { Recordings } from "../recording/recorder.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { type CapturedLog, createCapturedLog } from "./captured-log.ts";
import { type RecordedWire, recordWire } from "./recorded-wire.ts";

type AnyPlugin = Plugin | PluginEntry;
type CapabilityOf<Item> = Item extends { capability: infer C extends Capability }
  ? C
  : Item extends { plugin: { capability: infer C extends Capability } }
    ? C
    : never;
/** An API per plugin, under the name of its capability. */
type ApisOf<Plugins extends readonly AnyPlugin[]> = {
  [C in CapabilityOf<Plugins[number]> as C["name"]]: C;
};

export type TestClient<Plugins extends readonly AnyPlugin[]> = WithApis<ApisOf<Plugins>>;

export interface TestHostOptions<Plugins extends readonly AnyPlugin[]>
  extends Omit<Partial<HostOptions>, "plugins" | "log"> {
  plugins: Plugins;
  /** Records every session. */
  recordings?: Recordings;
  /** Options of the first client. */
  client?: TestClientOptions;
}

export interface TestClientOptions extends Omit<ClientOptions, "transport"> {
  /** Joins this session instead of creating one. */
  sessionId?: string;
}

export interface TestHost<Plugins extends readonly AnyPlugin[]> {
  readonly host: A2EHost;
  /** Connected, and granted all capabilities of the host. */
  readonly client: TestClient<Plugins>;
  /** The messages between `client` and the host. */
  readonly wire: RecordedWire["records"];
  readonly log: CapturedLog;
  /** Another agent, in a session of its own. */
  connect(options?: TestClientOptions): Promise<TestClient<Plugins>>;
  /** Ends clients and host; rejects if a session is left. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a host with these plugins; an object with `plugins` sets more. */
export function startHost<const Plugins extends readonly AnyPlugin[]>(...plugins: Plugins): Promise<TestHost<Plugins>>;
export function startHost<const Plugins extends readonly AnyPlugin[]>(
  options: TestHostOptions<Plugins>,
): Promise<TestHost<Plugins>>;
export function startHost(
  ...items: [TestHostOptions<readonly AnyPlugin[]>] | AnyPlugin[]
): Promise<TestHost<readonly AnyPlugin[]>> {
  const [first] = items;
  if (first !== undefined && "plugins" in first) return start(first);
  return start({ plugins: items as AnyPlugin[] });
}

async function start({
  client: clientOptions,
  recordings,
  ...options
}: TestHostOptions<readonly AnyPlugin[]>): Promise<TestHost<readonly AnyPlugin[]>> {
  const log = createCapturedLog();
  const given: HostOptions = { keeping: keepSessions, snapshots: createMemorySnapshotStore(), ...options, log };
  const host = await A2EHost.start(recordings === undefined ? given : recordHost(given, { recordings }));
  const capabilities = host.plugins.map(({ plugin }) => plugin.capability);
  const apis = Object.fromEntries(capabilities.map((capability) => [capability.name, capability]));
  const clients: A2EClient[] = [];

  const open = async ({ sessionId, ...rest }: TestClientOptions = {}) => {
    const wire = recordWire(createDirectTransport(() => openSession(host, sessionId)));
    const client = await A2EClient.connect({ capabilities: host.capabilities, ...rest, transport: wire.transport });
    clients.push(client);
    return { client: withApis(client, apis), wire };
  };

  const close = async () => {
    let left: number;
    try {
      await Promise.all(clients.map((client) => client.disconnect()));
    } finally {
      left = host.sessions.size;
      await host.close(0);
    }
    if (left > 0) throw new Error(`${left} session${left === 1 ? " is" : "s are"} left, though every client has gone`);
  };

  try {
    const { client, wire } = await open(clientOptions);
    return {
      host,
      client,
      wire: wire.records,
      log,
      connect: async (connectOptions) => (await open(connectOptions)).client,
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await host.close(0);
    throw error;
  }
}

async function openSession(host: A2EHost, sessionId: string | undefined) {
  if (sessionId === undefined) return host.sessions.create();
  const session = await host.sessions.find(sessionId);
  if (session === undefined) throw new Error("the host has no such session");
  return session;
}
