// A plugin in a thread of its own. It looks like any other; one that blocks, loops or crashes hurts its own calls alone:
// they end with `timeout` or `sandbox_crash`, the thread is replaced, and its sessions go on with the state they had.
import { AsyncResource } from "node:async_hooks";
import type { ResourceLimits } from "node:worker_threads";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { CallContext } from "../call-context.ts";
import { closeWithin } from "../close-within.ts";
import { type Logger, silentLogger } from "../logger.ts";
import type { Handlers, Plugin, PluginContext, SessionContext, SessionPart } from "../plugin.ts";
import { PluginLink } from "./plugin-link.ts";
import type { AgentRequest, FromPluginThread, NestedRequest, StateEntries, ThreadSetup } from "./plugin-messages.ts";
import { ThreadRequests } from "./thread-requests.ts";

export interface IsolationOptions {
  /** The plugin as loaded here: only its table and its place are used, never its handlers. */
  plugin: Plugin;
  source: Pick<ThreadSetup, "cls" | "baseDir" | "type" | "options">;
  resourceLimits?: ResourceLimits;
  /** How long a thread may be silent when asked whether it is there before it counts as blocked and is replaced. */
  stuckAfterMs?: number;
  /** How often it is asked by somebody who waits for a session to be opened, saved or closed while no call runs. */
  watchMs?: number;
}

/** How long a plugin may take to close in its thread: less than the host waits for it. */
const closeMs = 2_000;

interface IsolatedSession {
  readonly number: number;
  readonly context: SessionContext;
  /** Does something in the name of the session: what comes from a thread comes in nobody's. */
  readonly inScope: <Result>(work: () => Result) => Result;
  /** What its part holds beside its state, as of the last snapshot or restore. */
  saved: JsonValue | undefined;
}

/** A thread, and what is open in it. */
interface Thread {
  readonly link: PluginLink;
  readonly requests: ThreadRequests;
  readonly ready: Promise<unknown>;
  /** By session: whether it can be saved. */
  readonly opened: Map<number, Promise<boolean>>;
}

/** Wraps a plugin so that it runs in a worker thread. */
export function isolatePlugin({
  plugin,
  source,
  resourceLimits = { maxOldGenerationSizeMb: 512 },
  stuckAfterMs = 500,
  watchMs = 30_000,
}: IsolationOptions): Plugin {
  const { capability } = plugin;
  const sessions = new Map<number, IsolatedSession>();
  let current: Thread | undefined;
  let setup: ThreadSetup | undefined;
  let log: Logger = silentLogger;
  let numbers = 0;
  let isClosed = false;

  /** The thread that serves now, set up; another one where the last was lost. */
  async function useThread(): Promise<Thread> {
    if (isClosed || setup === undefined) throw new A2EError("sandbox_crash", "the plugin is not running");
    current ??= startThread(setup);
    const thread = current;
    await thread.ready;
    return thread;
  }

  function startThread(threadSetup: ThreadSetup): Thread {
    const { name } = threadSetup;
    let isReady = false;
    const link = new PluginLink({
      resourceLimits,
      stuckAfterMs,
      watchMs,
      receive: (message) => receive(thread, message),
      onBadMessage: (error) => log.error("a message of a plugin's thread was not taken", { plugin: name, error }),
      onEnded(error) {
        if (current === thread) current = undefined;
        requests.end();
        // One that was never ready is told to whoever started it.
        if (isReady && !isClosed) log.error("a plugin's thread was lost", { plugin: name, error });
      },
    });
    const requests = new ThreadRequests((message) => link.post(message));
    const ready = link.ask({ what: "setup", setup: threadSetup }).then(
      () => {
        isReady = true;
      },
      async (error: Error) => {
        // A thread whose plugin did not start serves nobody: the next to need it tries again.
        await link.end(error);
        throw error;
      },
    );
    const thread: Thread = { link, requests, ready, opened: new Map() };
    return thread;
  }

  function receive({ link, requests }: Thread, message: FromPluginThread): void {
    switch (message.kind) {
      case "state":
        return takeState(message.session, message.changes);
      case "push":
        return push(message.session, message.type, message.payload);
      case "nested":
        return requests.start(message.nested, (signal) => callOther(link, message, signal));
      case "askAgent":
        return requests.start(message.nested, (signal) => askAgent(message, signal));
      case "abortNested":
        return requests.abort(message.nested);
      case "log":
        return log[message.level](message.message, message.fields);
    }
  }

  /** The host's copy is the one that lasts: the change is written with whatever is said after it. */
  function takeState(number: number, changes: StateEntries): void {
    const session = sessions.get(number);
    for (const [key, value] of changes) {
      if (value === undefined) session?.context.state.delete(key);
      else session?.context.state.set(key, value);
    }
  }

  function push(number: number, type: string, payload: JsonObject): void {
    const table = Object.values(capability.pushes).find((candidate) => candidate.type === type);
    if (table === undefined) throw new Error(`the capability "${capability.name}" has no push "${type}"`);
    const session = sessions.get(number);
    session?.inScope(() => session.context.push(table, payload));
  }

  async function callOther(link: PluginLink, message: NestedRequest, signal: AbortSignal): Promise<JsonObject> {
    const { from, nested, type, request, timeoutMs, id } = message;
    const caller = "call" in from ? link.runningCall(from.call) : sessions.get(from.session);
    if (caller === undefined) throw new A2EError("cancelled", "the call has ended");
    const options = {
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(id === undefined ? {} : { id }),
      onEvent: (event: { kind: string; data: JsonObject; seq: number }) =>
        link.post({ kind: "nestedEvent", nested, event }),
    };
    return caller.inScope(() => caller.context.call(type, request, options));
  }

  async function askAgent(message: AgentRequest, signal: AbortSignal): Promise<JsonObject> {
    const { type, request, timeoutMs } = message;
    const session = sessions.get(message.session);
    const table = Object.values(capability.asks).find((candidate) => candidate.type === type);
    if (session === undefined || table === undefined) throw new A2EError("cancelled", "there is nobody to ask");
    const options = { signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    return session.inScope(() => session.context.ask(table, request, options)) as Promise<JsonObject>;
  }

  /** Opens the session in the thread that serves now, once. */
  async function openIn(session: IsolatedSession): Promise<{ link: PluginLink; isSaved: boolean }> {
    const thread = await useThread();
    const { link, opened } = thread;
    let opening = opened.get(session.number);
    if (opening === undefined) {
      opening = open(link, session);
      opened.set(session.number, opening);
      // What failed may be tried again.
      opening.catch(() => opened.delete(session.number));
    }
    return { link, isSaved: await opening };
  }

  async function open(link: PluginLink, { number, context, saved }: IsolatedSession): Promise<boolean> {
    const { id, principal } = context.session;
    const info = { id, principal: { ...principal } };
    const isSaved = await link.ask({ what: "open", session: number, info, state: [...context.state.entries()] });
    if (isSaved === true && saved !== undefined) await link.ask({ what: "restore", session: number, state: saved });
    return isSaved === true;
  }

  async function closeSession({ number }: IsolatedSession, isForGood: boolean): Promise<void> {
    sessions.delete(number);
    const thread = current;
    if (thread?.opened.delete(number) === true) await thread.link.ask({ what: "close", session: number, isForGood });
  }

  function createPart(session: IsolatedSession, isSaved: boolean): SessionPart {
    const { number } = session;
    const handle = (name: string) => async (request: JsonObject, context: CallContext) => {
      const { link } = await openIn(session);
      return link.call(number, name, request, context);
    };
    const handlers = Object.fromEntries(Object.keys(capability.calls).map((name) => [name, handle(name)]));
    const part: SessionPart = {
      handlers: handlers as unknown as Handlers<typeof capability>,
      close: (isForGood = false) => closeSession(session, isForGood),
    };
    if (!isSaved) return part;
    part.snapshot = async () => {
      const { link } = await openIn(session);
      session.saved = (await link.ask({ what: "snapshot", session: number })) ?? null;
      return session.saved;
    };
    part.restore = async (state) => {
      const { link } = await openIn(session);
      await link.ask({ what: "restore", session: number, state });
      session.saved = state;
    };
    return part;
  }

  return {
    ...plugin,
    capability,
    async setup({ name, dataDir, workspaceDir, isReplay, log: hostLog }: PluginContext) {
      isClosed = false;
      log = hostLog;
      setup = { ...source, name, dataDir, workspaceDir, isReplay };
      await useThread();
    },
    async session(context: SessionContext): Promise<SessionPart> {
      numbers += 1;
      const inScope = AsyncResource.bind((work: () => unknown) => work()) as IsolatedSession["inScope"];
      const session: IsolatedSession = { number: numbers, context, inScope, saved: undefined };
      sessions.set(session.number, session);
      try {
        const { isSaved } = await openIn(session);
        return createPart(session, isSaved);
      } catch (error) {
        sessions.delete(session.number);
        throw error;
      }
    },
    async close() {
      isClosed = true;
      const link = current?.link;
      try {
        await closeWithin(() => link?.ask({ what: "end" }), closeMs);
      } finally {
        await link?.end(new A2EError("sandbox_crash", "the plugin is closed"));
      }
    },
  };
}
