// A plugin in a thread of its own. It looks like any other; one that blocks, loops or crashes hurts its own calls alone:
// they end with `timeout` or `sandbox_crash`, the thread is replaced, and its sessions go on from their last snapshot.
import { type ResourceLimits, Worker } from "node:worker_threads";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { CallContext } from "../call-context.ts";
import { type Logger, silentLogger } from "../logger.ts";
import type { Handlers, Plugin, PluginContext, SessionContext, SessionPart } from "../plugin.ts";
import type { FromPluginThread, ThreadSetup, ToPluginThread } from "./plugin-messages.ts";
import { threadEntry } from "./thread-entry.ts";
import { fromThreadError, toThreadError } from "./thread-errors.ts";
import { toCrash } from "./worker-pool.ts";

export interface IsolationOptions {
  /** The plugin as loaded here: only its table and its place are used, never its handlers. */
  plugin: Plugin;
  source: Pick<ThreadSetup, "cls" | "baseDir" | "type" | "options">;
  resourceLimits?: ResourceLimits;
  /** How long a thread may ignore that a call of it was ended before it counts as stuck and is replaced. */
  stuckAfterMs?: number;
}

interface IsolatedSession {
  readonly number: number;
  readonly context: SessionContext;
  /** As of the last snapshot or restore; what a new thread starts the session from. */
  saved: JsonValue | undefined;
  opening: { resolve(isSaved: boolean): void; reject(error: Error): void } | undefined;
}

interface IsolatedCall {
  readonly context: CallContext;
  resolve(result: JsonObject | undefined): void;
  reject(error: Error): void;
}

/** Wraps a plugin so that it runs in a worker thread. */
export function isolatePlugin({
  plugin,
  source,
  resourceLimits = { maxOldGenerationSizeMb: 512 },
  stuckAfterMs = 250,
}: IsolationOptions): Plugin {
  const { capability } = plugin;
  const sessions = new Map<number, IsolatedSession>();
  const calls = new Map<number, IsolatedCall>();
  const asks = new Map<number, { resolve(state: JsonValue | undefined): void; reject(error: Error): void }>();
  let thread: Worker | undefined;
  let starting: Promise<void> | undefined;
  let setup: ThreadSetup | undefined;
  let log: Logger = silentLogger;
  let numbers = 0;
  let isClosed = false;

  const post = (message: ToPluginThread) => thread?.postMessage(message);

  function start(): Promise<void> {
    starting ??= new Promise<void>((resolve, reject) => {
      if (setup === undefined || isClosed) return reject(new A2EError("sandbox_crash", "the plugin is not running"));
      const worker = new Worker(threadEntry("plugin-thread", import.meta.url), { resourceLimits });
      thread = worker;
      worker.on("message", (message: FromPluginThread) => {
        if (message.kind === "ready") resolve();
        else if (message.kind === "failed") reject(fromThreadError(message.error));
        else receive(message);
      });
      worker.on("error", (error) => lose(worker, toCrash(error), reject));
      worker.on("exit", (code) =>
        lose(worker, new A2EError("sandbox_crash", `the plugin's thread ended with code ${code}`), reject),
      );
      // The thread serves; it is no reason for a process to stay.
      worker.unref();
      post({ kind: "setup", setup });
    });
    return starting;
  }

  /** The thread is gone: its calls fail, its sessions are opened anew when they are next used. */
  function lose(worker: Worker, error: Error, rejectStart: (error: Error) => void): void {
    if (thread !== worker) return;
    thread = undefined;
    starting = undefined;
    rejectStart(error);
    void worker.terminate();
    if (!isClosed) log.error("a plugin's thread was lost", { plugin: setup?.name ?? "", error });
    for (const call of takeAll(calls)) call.reject(error);
    for (const ask of takeAll(asks)) ask.reject(error);
    for (const session of sessions.values()) session.opening?.reject(error);
  }

  function receive(message: FromPluginThread): void {
    switch (message.kind) {
      case "opened":
        return sessions.get(message.session)?.opening?.resolve(message.isSaved);
      case "notOpened":
        return sessions.get(message.session)?.opening?.reject(fromThreadError(message.error));
      case "result":
        return take(calls, message.call)?.resolve(message.result);
      case "error":
        return take(calls, message.call)?.reject(fromThreadError(message.error));
      case "event":
        return calls.get(message.call)?.context.emit(message.event, message.data);
      case "timeout":
        return calls.get(message.call)?.context.setTimeout(message.timeoutMs);
      case "push":
        return push(message.session, message.type, message.payload);
      case "nested":
        return nested(message);
      case "askAgent":
        return askAgent(message);
      case "answer": {
        const ask = take(asks, message.ask);
        return message.error === undefined ? ask?.resolve(message.state) : ask?.reject(fromThreadError(message.error));
      }
      case "log":
        return log[message.level](message.message, message.fields);
    }
  }

  function push(session: number, type: string, payload: JsonObject): void {
    const table = Object.values(capability.pushes).find((candidate) => candidate.type === type);
    if (table !== undefined) sessions.get(session)?.context.push(table, payload);
  }

  function nested({ from, nested, type, request, timeoutMs, id }: Extract<FromPluginThread, { kind: "nested" }>): void {
    const context = "call" in from ? calls.get(from.call)?.context : sessions.get(from.session)?.context;
    if (context === undefined) return settle(nested, Promise.reject(new A2EError("cancelled", "the call has ended")));
    const options = {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(id === undefined ? {} : { id }),
      onEvent: (event: { kind: string; data: JsonObject; seq: number }) => post({ kind: "nestedEvent", nested, event }),
    };
    settle(nested, context.call(type, request, options));
  }

  function askAgent({
    session,
    nested,
    type,
    request,
    timeoutMs,
  }: Extract<FromPluginThread, { kind: "askAgent" }>): void {
    const context = sessions.get(session)?.context;
    const table = Object.values(capability.asks).find((candidate) => candidate.type === type);
    if (context === undefined || table === undefined)
      return settle(nested, Promise.reject(new A2EError("cancelled", "there is nobody to ask")));
    settle(nested, context.ask(table, request, timeoutMs === undefined ? {} : { timeoutMs }) as Promise<JsonObject>);
  }

  function settle(nested: number, outcome: Promise<JsonObject>): void {
    outcome.then(
      (result) => post({ kind: "nested", nested, result }),
      (error: unknown) => post({ kind: "nested", nested, error: toThreadError(error) }),
    );
  }

  const inThread = new WeakMap<Worker, Map<number, Promise<boolean>>>();

  /** Opens the session in the current thread, once; a new thread gets it with its last saved state. */
  async function ensureOpen(session: IsolatedSession): Promise<boolean> {
    await start();
    const worker = thread;
    if (worker === undefined) throw new A2EError("sandbox_crash", "the plugin's thread was lost");
    const opened = inThread.get(worker) ?? new Map<number, Promise<boolean>>();
    inThread.set(worker, opened);
    const known = opened.get(session.number);
    if (known !== undefined) return known;
    const opening = new Promise<boolean>((resolve, reject) => {
      session.opening = { resolve, reject };
      const { id, principal } = session.context.session;
      post({ kind: "open", session: session.number, info: { id, principal: { ...principal } } });
    }).then(async (isSaved) => {
      if (isSaved && session.saved !== undefined)
        await ask({ session: session.number, what: "restore", state: session.saved });
      return isSaved;
    });
    opened.set(session.number, opening);
    return opening;
  }

  type Question =
    | { session: number; what: "snapshot" | "close" }
    | { session: number; what: "restore"; state: JsonValue };
  function ask(question: Question): Promise<JsonValue | undefined> {
    return new Promise((resolve, reject) => {
      numbers += 1;
      asks.set(numbers, { resolve, reject });
      post({ kind: "ask", ask: numbers, ...question } as ToPluginThread);
    });
  }

  async function handle(
    session: IsolatedSession,
    name: string,
    request: JsonObject,
    context: CallContext,
  ): Promise<JsonObject | undefined> {
    await ensureOpen(session);
    const worker = thread;
    numbers += 1;
    const number = numbers;
    const onAbort = () => {
      post({ kind: "abort", call: number, error: toThreadError(context.signal.reason) });
      // A thread that does not even finish an ended call is blocked, and everybody else's calls in it with it.
      setTimeout(() => {
        if (calls.has(number) && thread === worker) void worker?.terminate();
      }, stuckAfterMs);
    };
    context.signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await new Promise<JsonObject | undefined>((resolve, reject) => {
        calls.set(number, { context, resolve, reject });
        post({ kind: "call", session: session.number, call: number, id: context.id, name, request });
      });
    } finally {
      context.signal.removeEventListener("abort", onAbort);
    }
  }

  return {
    ...plugin,
    capability,
    async setup(context: PluginContext) {
      log = context.log;
      setup = { ...source, name: context.name, dataDir: context.dataDir, workspaceDir: context.workspaceDir };
      await start();
    },
    async session(context: SessionContext): Promise<SessionPart> {
      numbers += 1;
      const session: IsolatedSession = { number: numbers, context, saved: undefined, opening: undefined };
      sessions.set(session.number, session);
      const isSaved = await ensureOpen(session);
      const names = Object.keys(capability.calls);
      const handlers = Object.fromEntries(
        names.map((name) => [name, (request: JsonObject, call: CallContext) => handle(session, name, request, call)]),
      );
      const part: SessionPart = {
        handlers: handlers as unknown as Handlers<typeof capability>,
        async close() {
          sessions.delete(session.number);
          if (thread !== undefined) await ask({ session: session.number, what: "close" });
        },
      };
      if (!isSaved) return part;
      part.snapshot = async () => {
        await ensureOpen(session);
        session.saved = (await ask({ session: session.number, what: "snapshot" })) ?? null;
        return session.saved;
      };
      part.restore = async (state) => {
        await ensureOpen(session);
        await ask({ session: session.number, what: "restore", state });
        session.saved = state;
      };
      return part;
    },
    async close() {
      isClosed = true;
      const worker = thread;
      thread = undefined;
      await worker?.terminate();
    },
  };
}

function take<Item>(from: Map<number, Item>, number: number): Item | undefined {
  const item = from.get(number);
  from.delete(number);
  return item;
}

function takeAll<Item>(from: Map<number, Item>): Item[] {
  const items = [...from.values()];
  from.clear();
  return items;
}
