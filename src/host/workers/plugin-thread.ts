// Runs in a thread of its own: a plugin, all its sessions, and nothing else. What blocks here blocks nobody but them.
import { parentPort } from "node:worker_threads";
import type { Call } from "../../protocol/capability.ts";
import { createIdSource, systemClock } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import { copyJson, type JsonObject } from "../../protocol/json.ts";
import type { CallContext, CallOptions, CallOther, SessionInfo } from "../call-context.ts";
import { createPluginFrom } from "../config/plugin-export.ts";
import type { Logger } from "../logger.ts";
import { noDatabase } from "../no-database.ts";
import type { Plugin, SessionContext, SessionPart } from "../plugin.ts";
import { noSandboxes } from "../sandbox.ts";
import { createKey, createSecrets } from "../secrets.ts";
import { SessionState } from "../session-state.ts";
import { ToolCatalogue } from "../tool-catalogue.ts";
import type { FromPluginThread, NestedFrom, ThreadSetup, ToPluginThread } from "./plugin-messages.ts";
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
    const secrets = createSecrets(createKey());
    const ports = { log, clock: systemClock, database: noDatabase, sandboxes: noSandboxes, secrets };
    await made.setup?.({ ...context, ...ports, tools: new ToolCatalogue() });
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
      // Nobody in this thread can know; what it sends is bounded on the other side.
      unsentBytes: () => 0,
      ask: ((ask, request, { timeoutMs } = {}) =>
        across(undefined, (nested) => ({
          kind: "askAgent",
          session,
          nested,
          type: ask.type,
          request: copyJson(request) as JsonObject,
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
        }))) as SessionContext["ask"],
      call: callFrom({ session }),
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
    call: callFrom({ call: number }),
    callNow: callFrom({ call: number }),
  };
}

/** The gate is the host's, so a call of another capability goes there and back. */
function callFrom(from: NestedFrom): CallOther {
  const call = (table: Call | string, request: unknown, { timeoutMs, id, onEvent }: CallOptions = {}) =>
    across(onEvent, (nested) => ({
      kind: "nested",
      from,
      nested,
      type: typeof table === "string" ? table : table.type,
      request: copyJson(request) as JsonObject,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(id === undefined ? {} : { id }),
    }));
  return call as CallOther;
}

/** Sends what the host is to do, and waits for what came of it. */
function across(
  onEvent: CallOptions["onEvent"],
  createMessage: (nested: number) => FromPluginThread,
): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    nestedCount += 1;
    // First, since a request without a JSON form throws here and is not waited for.
    const message = createMessage(nestedCount);
    nestedWaits.set(nestedCount, { resolve, reject, onEvent });
    post(message);
  });
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
