// Runs in a thread of its own: a plugin, all its sessions, and nothing else. What blocks here blocks nobody but them.
import { parentPort } from "node:worker_threads";
import type { Call, RequestInputOf, ResultOf } from "../../protocol/capability.ts";
import { createIdSource, systemClock } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import { copyJson, type JsonObject } from "../../protocol/json.ts";
import type { CallContext, CallOptions, SessionInfo } from "../call-context.ts";
import { createPluginFrom } from "../config/plugin-export.ts";
import type { Logger } from "../logger.ts";
import { noDatabase } from "../no-database.ts";
import type { Plugin, SessionPart } from "../plugin.ts";
import { SessionState } from "../session-state.ts";
import { ToolCatalogue } from "../tool-catalogue.ts";
import type { FromPluginThread, ThreadSetup, ToPluginThread } from "./plugin-messages.ts";
import { fromThreadError, toThreadError } from "./thread-errors.ts";

interface NestedWait {
  resolve(result: JsonObject): void;
  reject(error: Error): void;
  onEvent: CallOptions["onEvent"];
}

const log: Logger = { info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
const nextId = createIdSource();
const sessions = new Map<number, { info: SessionInfo; part: SessionPart }>();
const controllers = new Map<number, AbortController>();
const nestedWaits = new Map<number, NestedWait>();
let plugin: Plugin | undefined;
let nestedCount = 0;

parentPort?.on("message", (message: ToPluginThread) => {
  switch (message.kind) {
    case "setup":
      return void setup(message.setup);
    case "open":
      return void open(message);
    case "call":
      return void call(message);
    case "abort":
      return controllers.get(message.call)?.abort(fromThreadError(message.error));
    case "ask":
      return void answer(message);
    case "nestedEvent":
      return nestedWaits.get(message.nested)?.onEvent?.(message.event);
    case "nested": {
      const wait = nestedWaits.get(message.nested);
      nestedWaits.delete(message.nested);
      if (message.error !== undefined) wait?.reject(fromThreadError(message.error));
      else wait?.resolve(message.result ?? {});
    }
  }
});

async function setup({ cls, baseDir, type, options, ...context }: ThreadSetup): Promise<void> {
  try {
    const made = await createPluginFrom(cls, baseDir, type, options);
    plugin = made;
    await made.setup?.({ ...context, log, clock: systemClock, database: noDatabase, tools: new ToolCatalogue() });
    post({ kind: "ready" });
  } catch (error) {
    post({ kind: "failed", error: toThreadError(error) });
  }
}

async function open({ session, info }: Extract<ToPluginThread, { kind: "open" }>): Promise<void> {
  try {
    if (plugin === undefined) throw new Error("the plugin is not set up");
    const part = await plugin.session({
      session: info,
      log,
      clock: systemClock,
      nextId,
      random: Math.random,
      state: new SessionState(),
      tools: new ToolCatalogue(),
      push: (push, payload) =>
        post({ kind: "push", session, type: push.type, payload: copyJson(payload) as JsonObject }),
    });
    sessions.set(session, { info, part });
    post({ kind: "opened", session, isSaved: part.snapshot !== undefined && part.restore !== undefined });
  } catch (error) {
    post({ kind: "notOpened", session, error: toThreadError(error) });
  }
}

async function call({
  session,
  call: number,
  id,
  name,
  request,
}: Extract<ToPluginThread, { kind: "call" }>): Promise<void> {
  const controller = new AbortController();
  controllers.set(number, controller);
  try {
    const { info, part } = sessions.get(session) ?? raise("the session is not open");
    const handler = (part.handlers as Record<string, (request: unknown, context: CallContext) => unknown>)[name];
    if (handler === undefined) throw new Error(`the plugin has no handler "${name}"`);
    const result = (await handler(request, contextFor(number, id, info, controller.signal))) as JsonObject | undefined;
    post({ kind: "result", call: number, result: copyJson(result) });
  } catch (error) {
    post({ kind: "error", call: number, error: toThreadError(error) });
  } finally {
    controllers.delete(number);
  }
}

function contextFor(number: number, id: string, session: SessionInfo, signal: AbortSignal): CallContext {
  return {
    id,
    session,
    log,
    clock: systemClock,
    startedAt: systemClock.now(),
    signal,
    get isEnded() {
      return signal.aborted;
    },
    emit: (event, data) => post({ kind: "event", call: number, event, data: copyJson(data) }),
    setTimeout: (timeoutMs) => post({ kind: "timeout", call: number, timeoutMs }),
    call: <C extends Call>(table: C, request: RequestInputOf<C>, options: CallOptions = {}) =>
      new Promise<ResultOf<C>>((resolve, reject) => {
        nestedCount += 1;
        const wait: NestedWait = { resolve: resolve as NestedWait["resolve"], reject, onEvent: options.onEvent };
        nestedWaits.set(nestedCount, wait);
        const timeout = options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs };
        post({
          kind: "nested",
          call: number,
          nested: nestedCount,
          type: table.type,
          request: copyJson(request) as JsonObject,
          ...timeout,
        });
      }),
  };
}

async function answer(message: Extract<ToPluginThread, { kind: "ask" }>): Promise<void> {
  const { ask } = message;
  try {
    const part = sessions.get(message.session)?.part;
    if (message.what === "snapshot")
      return post({ kind: "answer", ask, state: copyJson((await part?.snapshot?.()) ?? null) });
    if (message.what === "restore") await part?.restore?.(message.state);
    else {
      sessions.delete(message.session);
      await part?.close?.();
    }
    post({ kind: "answer", ask });
  } catch (error) {
    post({ kind: "answer", ask, error: toThreadError(error) });
  }
}

function logAt(level: "info" | "warn" | "error") {
  return (message: string, fields: Record<string, unknown> = {}) =>
    post({ kind: "log", level, message, fields: copyJson(fields) });
}

function raise(message: string): never {
  throw new A2EError("sandbox_crash", message);
}

function post(message: FromPluginThread): void {
  parentPort?.postMessage(message);
}
