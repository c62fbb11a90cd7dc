// Runs a plugin in a worker thread, behind the same interface as any other plugin. If it blocks or crashes, only its
// own calls fail, with `timeout` or `sandbox_crash`. The thread is replaced, and its sessions continue with their
// state.
import type { ResourceLimits } from "node:worker_threads";
import { closeWithin } from "../machinery/pacing/close-within.ts";
import type { CallContext } from "../plugin/call-context.ts";
import { type Logger, silentLogger } from "../plugin/logger.ts";
import type { Handlers, Plugin, PluginContext, SessionContext, SessionPart } from "../plugin/plugin.ts";
import { A2EError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import { IsolatedSession, refuseRequest, sessionEnded, type ThreadPort } from "./isolated-session.ts";
import { PluginLink, type SaidByThread } from "./plugin-link.ts";
import type { ThreadSetup } from "./plugin-messages.ts";
import type { PostToThread } from "./thread-requests.ts";

export interface IsolationOptions {
  /** The plugin as loaded in the host's thread: its table and options are used, its handlers never run there. */
  plugin: Plugin;
  source: Pick<ThreadSetup, "cls" | "baseDir" | "type" | "options">;
  resourceLimits?: ResourceLimits;
  /** A thread that does not answer a ping within this time is blocked and is replaced. */
  stuckAfterMs?: number;
  /** How often the thread is pinged while it opens or closes a session and no call runs, which would have a deadline. */
  watchMs?: number;
}

/** How long a plugin may take to close in its thread; shorter than the time that the host waits for a plugin. */
const closeMs = 2_000;

/** A thread and the sessions that are open in it. */
interface Thread {
  readonly link: PluginLink;
  readonly ready: Promise<unknown>;
  /** By session: settles when the session is open in this thread. */
  readonly opened: Map<number, Promise<void>>;
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

  /** The current thread, set up. Starts a new thread if the last was lost. */
  async function useThread(): Promise<Thread> {
    if (isClosed || setup === undefined || setup.isReplay)
      throw new A2EError("sandbox_crash", "the plugin is not running");
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
      hasCalls: () => [...sessions.values()].some(({ isBusy }) => isBusy),
      receive: (message) => receive(link, message),
      onBadMessage: (error) => log.error("a message of a plugin's thread was not taken", { plugin: name, error }),
      onEnded(error) {
        if (current === thread) current = undefined;
        // A closed session that is still listed has calls in this thread.
        for (const session of [...sessions.values()])
          if (session.isClosed || thread.opened.has(session.number)) session.lose(error);
        // If the thread never became ready, `ready` rejects with the error instead.
        if (isReady && !isClosed) log.error("a plugin's thread was lost", { plugin: name, error });
      },
    });
    const ready = link.ask({ what: "setup", setup: threadSetup }).then(
      () => {
        isReady = true;
      },
      async (error: Error) => {
        // The plugin did not start, so the thread is of no use: the next `useThread` starts a new thread.
        await link.end(error);
        throw error;
      },
    );
    const thread: Thread = { link, ready, opened: new Map() };
    return thread;
  }

  function receive(link: PluginLink, message: SaidByThread): void {
    if (message.kind === "log") return log[message.level](message.message, message.fields);
    const post: PostToThread = (answer) => link.post(answer);
    const session = sessions.get(message.session);
    if (session !== undefined) return session.receive(message, post);
    refuseRequest(message, sessionEnded, post);
  }

  const port: ThreadPort = {
    capability,
    async deliver(session, message, isWanted) {
      if (setup?.isReplay === true) return;
      const link = await openIn(session);
      // It may have been closed while it was opened, and is then not open in any thread.
      if (session.isClosed) throw new A2EError("sandbox_crash", sessionEnded);
      if (isWanted()) link.post(message);
    },
    abort: (session, call, reason) => current?.link.abort(session, call, reason),
    forget: ({ number }) => void sessions.delete(number),
  };

  /** Opens the session in the current thread, once. */
  async function openIn(session: IsolatedSession): Promise<PluginLink> {
    const { link, opened } = await useThread();
    if (session.isClosed) throw new A2EError("sandbox_crash", sessionEnded);
    let opening = opened.get(session.number);
    if (opening === undefined) {
      opening = open(link, session);
      opened.set(session.number, opening);
      // After a failure, the next call tries again.
      opening.catch(() => opened.delete(session.number));
    }
    await opening;
    return link;
  }

  /** The thread gets a copy of the state, and reports every change of it. */
  async function open(link: PluginLink, { number, context, state }: IsolatedSession): Promise<void> {
    const { id, principal } = context.session;
    const info = { id, principal: { ...principal } };
    await link.ask({ what: "open", session: number, info, state: [...state.entries()] });
  }

  async function closeSession(session: IsolatedSession, isForGood: boolean): Promise<void> {
    const { number } = session;
    session.close();
    const thread = current;
    if (thread?.opened.delete(number) === true) await thread.link.ask({ what: "close", session: number, isForGood });
  }

  function createPart(session: IsolatedSession): SessionPart {
    const handle = (name: string) => (request: JsonObject, call: CallContext) => session.call(name, request, call);
    const handlers = Object.fromEntries(Object.keys(capability.calls).map((name) => [name, handle(name)]));
    return {
      handlers: handlers as unknown as Handlers<typeof capability>,
      close: (isForGood = false) => closeSession(session, isForGood),
    };
  }

  return {
    ...plugin,
    capability,
    async setup({ name, dataDir, workspaceDir, isReplay, log: hostLog }: PluginContext) {
      isClosed = false;
      log = hostLog;
      setup = { ...source, name, dataDir, workspaceDir, isReplay };
      if (!isReplay) await useThread();
    },
    async session(context: SessionContext): Promise<SessionPart> {
      numbers += 1;
      const session = new IsolatedSession(numbers, context, port);
      sessions.set(session.number, session);
      try {
        // The thread is outside of the session: a replay has the outcome in its recording and starts no thread.
        await context.outside(async () => void (await openIn(session)));
        return createPart(session);
      } catch (error) {
        session.close();
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
