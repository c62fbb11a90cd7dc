// The plugin on a real in-memory database, with sessions and forks but without a host.
import { deepStrictEqual } from "node:assert";
import { createPluginContext, createSessionContext } from "../../host/session/plugin-contexts.suite.ts";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import { CheckedResult } from "../../plugin/checked-result.ts";
import type { SessionPart } from "../../plugin/plugin.ts";
import type { Database } from "../../plugin/ports/database.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call, RequestInputOf, ResultOf } from "../../protocol/table/capability.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake-clock.ts";
import { createFakeIds } from "../../testing/fake-ids.ts";
import { overlaysOf } from "./memories.ts";
import { type MemoryPluginOptions, memoryPlugin } from "./plugin.ts";
import { memory } from "./protocol.ts";

type Calls = (typeof memory)["calls"];

export interface MemoryHost {
  readonly database: Database;
  readonly clock: FakeClock;
  /** A new session of an agent, or a session on an existing state. */
  open(agent: string, state?: LayeredState): MemorySession;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface MemorySession {
  readonly state: LayeredState;
  readonly part: SessionPart<typeof memory>;
  init(request?: RequestInputOf<Calls["init"]>): Promise<ResultOf<Calls["init"]>>;
  store(request: RequestInputOf<Calls["store"]>): Promise<ResultOf<Calls["store"]>>;
  retrieve(request?: RequestInputOf<Calls["retrieve"]>): Promise<ResultOf<Calls["retrieve"]>>;
  forget(request?: RequestInputOf<Calls["forget"]>): Promise<ResultOf<Calls["forget"]>>;
  /** The keys that a search finds, in its order. */
  keys(request?: RequestInputOf<Calls["retrieve"]>): Promise<string[]>;
  /** The last overlay in the state of the fork is its own. */
  fork(): MemorySession & { overlay: string };
  /** Merges as the host does, except for the state. */
  merge(fork: MemorySession): { merged: number; conflicts: string[] } | undefined;
  close(): void;
}

export async function startMemory(options: MemoryPluginOptions = {}, database?: Database): Promise<MemoryHost> {
  const clock = createFakeClock();
  const nextId = createFakeIds();
  const shared = database ?? (await createSqliteDatabase({ path: ":memory:" }));
  const plugin = memoryPlugin(options);
  await plugin.setup?.(createPluginContext({ name: "memory", clock, database: shared }));

  const open = (agent: string, state = new LayeredState()): MemorySession => {
    const session = { id: nextId(), principal: { id: "", agentId: agent, isAuthenticated: agent !== "" } };
    const context = createSessionContext({ clock, session, nextId, state });
    const part = plugin.session(context) as SessionPart<typeof memory>;
    const ask = async <C extends Call>(call: C, handler: unknown, request: RequestInputOf<C> | undefined) => {
      const parsed = call.parseRequest(request ?? {}, "memory");
      if (parsed instanceof A2EError) throw parsed;
      const callContext = { session, clock, signal: new AbortController().signal } as unknown as CallContext;
      const answer = await (handler as (request: JsonObject, context: CallContext) => unknown)(parsed, callContext);
      const given = answer instanceof CheckedResult ? answer.fields : answer;
      const result = call.parseResult(given, "memory");
      if (result instanceof A2EError) throw result;
      // A CheckedResult must equal the result after validation.
      if (answer instanceof CheckedResult) deepStrictEqual(given, result);
      return result as ResultOf<C>;
    };
    const { calls } = memory;
    const opened: MemorySession = {
      state,
      part,
      init: (request) => ask(calls.init, part.handlers.init, request),
      store: (request) => ask(calls.store, part.handlers.store, request),
      retrieve: (request) => ask(calls.retrieve, part.handlers.retrieve, request),
      forget: (request) => ask(calls.forget, part.handlers.forget, request),
      keys: async (request) => (await opened.retrieve(request)).entries.map(({ key_text }) => key_text),
      fork() {
        const forked = state.fork();
        part.fork?.(forked);
        const overlay = overlaysOf(forked).at(-1) as string;
        return { ...open(agent, forked), overlay };
      },
      merge: (fork) => part.merge?.(fork.state),
      close: () => void part.close?.(),
    };
    return opened;
  };

  const close = async () => {
    await plugin.close?.();
    if (database === undefined) await shared.close();
  };
  return { database: shared, clock, open, close, [Symbol.asyncDispose]: close };
}
