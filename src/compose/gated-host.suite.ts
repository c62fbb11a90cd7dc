// A host with every table of the product and every kind of refusal: for tests of the gate from outside. Its handlers
// count their runs, change the state of their session, and return the example of their table.
import { randomBytes } from "node:crypto";
import { tables } from "../caps/tables.generated.ts";
import { createApiKeys } from "../credentials/api-keys.ts";
import { createAuthentication } from "../credentials/authentication.ts";
import { isRefusal, type ProvenIdentity } from "../credentials/credential.ts";
import { createNarrowedTokens } from "../credentials/narrowed-token.ts";
import { createSharedToken } from "../credentials/shared-token.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost, type HostOptions } from "../host/host.ts";
import { type Plugin, plugin } from "../plugin/plugin.ts";
import type { Principal } from "../plugin/principal.ts";
import { andThen } from "../protocol/awaitable.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Capability } from "../protocol/table/capability.ts";
import { compileRights, type Rights } from "../rights/rights.ts";
import type { RoleRules } from "../rights/roles.ts";
import { tableCalls } from "../rights/table-calls.suite.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createCapturedLog } from "../testing/captured-log.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import type { Caveats } from "../tokens/caveats.ts";

/** The name of the host that tokens may be bound to. */
const ownAudience = "gated-host";

export interface GatedHostOptions extends Partial<HostOptions> {
  roles?: Readonly<Record<string, RoleRules>>;
  sharedToken?: string;
  /** Changes the options at the end, for example to record sessions. */
  wrap?(options: HostOptions): HostOptions;
  /** Replaces the table's example as the result of a handler. */
  respond?(type: string, request: JsonObject): JsonObject | undefined | Promise<never>;
}

export type GatedHost = Awaited<ReturnType<typeof startGatedHost>>;

export async function startGatedHost({
  roles = {},
  sharedToken,
  respond,
  wrap = (given) => given,
  ...options
}: GatedHostOptions = {}) {
  const clock = createFakeClock();
  const log = createCapturedLog();
  const database = await createSqliteDatabase({ path: ":memory:" });
  const keys = createApiKeys({ database, clock, log });
  const narrowed = createNarrowedTokens({
    keys: [{ id: "1", secret: randomBytes(32) }],
    identityOf: (id) => keys.identityOf(id),
    clock,
  });
  const shared = sharedToken === undefined ? [] : [createSharedToken({ token: sharedToken })];
  const check = createAuthentication([keys, narrowed, ...shared]);
  /** Types of the calls whose handlers have run. */
  const runs: string[] = [];
  /** The number of calls that have passed the gate, those of the host itself included. */
  let admitted = 0;
  const given: HostOptions = {
    plugins: Object.values(tables).map((table) => examplePlugin(table, runs, respond)),
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    limits: { maxLinesBeforeHandshake: 10_000, maxBytesBeforeHandshake: 1 << 24 },
    interceptors: [
      (next) => (call) => {
        admitted += 1;
        return next(call);
      },
    ],
    authenticate: ({ agent_id: agentId, token }) =>
      andThen(check({ agentId, token, audience: [ownAudience] }), (outcome) => {
        if (!isRefusal(outcome)) return outcome;
        log.warn("a credential was refused", { reason: outcome.refused, detail: outcome.detail });
        return undefined;
      }),
    authorize: (principal) => rightsOf(principal, roles),
    database,
    clock,
    log,
    ...options,
  };
  const host = await A2EHost.start(wrap(given));
  keys.onRevoked(({ principalId }) => {
    for (const session of host.sessions.list())
      if (session.info.principal.id === principalId) void session.close("revoked");
  });
  const identityOf = (keyId: string) => keys.identityOf(`key:${keyId}`) as ProvenIdentity;
  return {
    host,
    clock,
    log,
    keys,
    runs,
    /** A token for this key with one link per item of `caveats`. */
    mint: (keyId: string, caveats: Caveats = {}) => narrowed.mint(identityOf(keyId), caveats),
    /** Changes whenever a call passes the gate, or something that an agent could change is changed. */
    async digest(): Promise<string> {
      const sessions = host.sessions.list();
      const saved = sessions.map(async ({ id, status }) => [
        id,
        status,
        (await host.sessions.listSnapshots(id)).length,
      ]);
      return JSON.stringify([admitted, runs.length, await Promise.all(saved)]);
    },
    async [Symbol.asyncDispose]() {
      keys.close();
      await host.close(0);
    },
  };
}

function examplePlugin(table: Capability, runs: string[], respond: GatedHostOptions["respond"]): Plugin {
  return plugin(table, {
    session: ({ state }) => {
      const handlers = Object.entries(table.calls).map(([name, { type, example }]) => {
        const run = (request: JsonObject) => {
          runs.push(type);
          state.set("last", type);
          return respond?.(type, request) ?? (structuredClone(example.result) as JsonObject);
        };
        return [name, run];
      });
      return { handlers: Object.fromEntries(handlers) as never };
    },
  });
}

/** The rights by the roles of a principal, restricted by the caveats of its token. */
function rightsOf(principal: Principal, roles: Readonly<Record<string, RoleRules>>): Rights {
  const { roles: names = [], caveats = [] } = principal as Principal & Pick<ProvenIdentity, "caveats">;
  return caveats.reduce((rights, link) => rights.and(caveatRights(link)), compileRights(roles, names));
}

function caveatRights({ capabilities, tools, namespaces, environments }: Caveats): Rights {
  const lists = [
    capabilities?.map((name) => `${name}/*`),
    restrictKind("tool", tools),
    restrictKind("ns", namespaces),
    restrictKind("env", environments),
  ].filter((allow) => allow !== undefined);
  const caveats = Object.fromEntries(lists.map((allow, index) => [String(index), { allow, deny: [] }]));
  const [first, ...others] = Object.keys(caveats).map((name) => compileRights(caveats, [name]));
  return others.reduce((rights, other) => rights.and(other), first ?? compileRights({}, ["operator"]));
}

/** Allows these resources of a kind, and all calls that are not about this kind. */
function restrictKind(kind: string, names: readonly string[] | undefined): string[] | undefined {
  if (names === undefined) return undefined;
  const others = tableCalls
    .filter(({ call: { about } }) => about.access !== "none" && about.resource !== kind)
    .map(({ capability, name }) => `${capability.name}/${name}`);
  return [...others, ...names.map((name) => `${kind}:${name}`)];
}
