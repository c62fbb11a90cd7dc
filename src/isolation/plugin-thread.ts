// The entry of a plugin's thread: runs the plugin and its sessions. Code that blocks here blocks only this plugin.
import { parentPort } from "node:worker_threads";
import { LayeredState } from "../machinery/state/layered-state.ts";
import { redirectOutput } from "../machinery/threads/thread-output.ts";
import type { CallContext, CallOptions, CallOther, SessionInfo } from "../plugin/call-context.ts";
import type { Logger } from "../plugin/logger.ts";
import type { AskOptions, Plugin, SessionContext, SessionPart } from "../plugin/plugin.ts";
import { runOutside } from "../plugin/plugin.ts";
import { noDatabase } from "../plugin/ports/no-database.ts";
import { noSandboxes } from "../plugin/ports/sandbox.ts";
import { createKey, createSecrets } from "../plugin/ports/secrets.ts";
import { ToolCatalogue } from "../plugin/tool-catalogue.ts";
import { createIdSource, systemClock } from "../protocol/envelope.ts";
import { A2EError, fromErrorJson } from "../protocol/errors.ts";
import { copyJson, type JsonObject, type JsonValue } from "../protocol/json.ts";
import type { Call } from "../protocol/table/capability.ts";
import { HostRequests } from "./host-requests.ts";
import { createPluginFrom } from "./plugin-export.ts";
import type { FromPluginThread, Question, ThreadSetup, ToPluginThread } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";
import { ThreadStates } from "./thread-states.ts";

const log: Logger = { info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
const nextId = createIdSource();
const sessions = new Map<number, { info: SessionInfo; part: SessionPart }>();
/** For each running call, by session and number. */
const controllers = new Map<string, AbortController>();
const requests = new HostRequests(post);
const states = new ThreadStates((message) => parentPort?.postMessage(message));
let plugin: Plugin | undefined;

redirectOutput((text) => log.info("plugin output", { text }));

parentPort?.on("message", (message: ToPluginThread) => {
  switch (message.kind) {
    case "ask":
      return void answer(message.ask, message.question);
    case "call":
      return void call(message);
    case "abort":
      return controllers.get(keyOf(message))?.abort(fromErrorJson(message.error));
    case "nested":
      return requests.settle(message);
    case "nestedEvent":
      return guarded("event was not taken", () => requests.event(message));
    case "ping":
      return post({ kind: "pong" });
  }
});

async function answer(ask: number, question: Question): Promise<void> {
  try {
    await answerTo(question);
    post({ kind: "answer", ask });
  } catch (error) {
    post({ kind: "answer", ask, error: toThreadError(error) });
  }
}

async function answerTo(question: Question): Promise<void> {
  switch (question.what) {
    case "setup":
      return setup(question.setup);
    case "open":
      return open(question);
    case "close": {
      const { session, isForGood } = question;
      const part = sessions.get(session)?.part;
      sessions.delete(session);
      await part?.close?.(isForGood);
      return states.delete(session);
    }
    case "end":
      return void (await plugin?.close?.());
  }
}

async function setup({ cls, baseDir, type, options, ...context }: ThreadSetup): Promise<void> {
  const made = await createPluginFrom(cls, baseDir, type, options);
  plugin = made;
  const secrets = createSecrets(createKey());
  const ports = { log, clock: systemClock, database: noDatabase, sandboxes: noSandboxes, secrets };
  await made.setup?.({ ...context, ...ports, tools: new ToolCatalogue() });
}

async function open({ session, info, state: entries }: Extract<Question, { what: "open" }>): Promise<void> {
  if (plugin === undefined) throw new Error("the plugin is not set up");
  const state = LayeredState.fromLayers([new Map(entries as [string, JsonValue][])]);
  states.add(session, state);
  const part = await plugin.session({
    session: info,
    log,
    clock: systemClock,
    nextId,
    random: Math.random,
    state,
    tools: new ToolCatalogue(),
    // Checked in this thread, so that the plugin gets the error.
    push: (push, payload) =>
      post({ kind: "push", session, type: push.type, payload: copyJson(push.payload.parse(payload)) as JsonObject }),
    // Unknown in this thread; the host limits the unsent bytes.
    unsentBytes: () => 0,
    ask: askFrom(session),
    // The host records the messages of the thread, so nothing is recorded here.
    outside: runOutside,
    fromOutside: (receive) => receive,
    call: callFrom(session),
  });
  sessions.set(session, { info, part });
}

async function call(message: Extract<ToPluginThread, { kind: "call" }>): Promise<void> {
  const { session, call: number, name, request } = message;
  const controller = new AbortController();
  const key = keyOf(message);
  controllers.set(key, controller);
  try {
    const { info, part } = sessions.get(session) ?? raise("the session is not open");
    const handler = (part.handlers as Record<string, (request: unknown, context: CallContext) => unknown>)[name];
    if (handler === undefined) throw new Error(`the plugin has no handler "${name}"`);
    const result = (await handler(request, contextFor(message, info, controller.signal))) as JsonObject | undefined;
    post({ kind: "result", session, call: number, result: copyJson(result) });
  } catch (error) {
    post({ kind: "error", session, call: number, error: toThreadError(error) });
  } finally {
    controllers.delete(key);
  }
}

function keyOf({ session, call: number }: { session: number; call: number }): string {
  return `${session} ${number}`;
}

function contextFor(
  message: Extract<ToPluginThread, { kind: "call" }>,
  info: SessionInfo,
  signal: AbortSignal,
): CallContext {
  const { session, call: number, id } = message;
  const key = keyOf(message);
  return {
    id,
    session: info,
    log,
    clock: systemClock,
    startedAt: systemClock.now(),
    signal,
    get isEnded() {
      return signal.aborted || !controllers.has(key);
    },
    emit: (event, data) =>
      guarded("event has no JSON form", () =>
        post({ kind: "event", session, call: number, event, data: copyJson(data) }),
      ),
    setTimeout: (timeoutMs) => post({ kind: "timeout", session, call: number, timeoutMs }),
    call: callFrom(session, number),
    callNow: callFrom(session, number),
    inlineCall: () => undefined,
  };
}

/** A call of another capability is sent to the host, which checks and runs it. */
function callFrom(session: number, from?: number): CallOther {
  const call = (table: Call | string, request: unknown, { timeoutMs, id, ...options }: CallOptions = {}) =>
    requests.send(
      session,
      (nested) => ({
        kind: "nested",
        session,
        ...(from === undefined ? {} : { call: from }),
        nested,
        type: typeof table === "string" ? table : table.type,
        request: copyJson(request) as JsonObject,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(id === undefined ? {} : { id }),
      }),
      options,
    );
  return call as CallOther;
}

function askFrom(session: number): SessionContext["ask"] {
  const ask = (table: Call, request: unknown, { timeoutMs, ...options }: AskOptions = {}) =>
    requests.send(
      session,
      (nested) => ({
        kind: "askAgent",
        session,
        nested,
        type: table.type,
        request: copyJson(request) as JsonObject,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      }),
      options,
    );
  return ask as SessionContext["ask"];
}

function logAt(level: "info" | "warn" | "error") {
  return (message: string, fields: Record<string, unknown> = {}) =>
    post({ kind: "log", level, message: String(message), fields: toLogFields(fields) });
}

/** Replaces values that have no JSON form, so that logging never throws. */
function toLogFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      try {
        return [name, value instanceof Error ? (value.stack ?? value.message) : copyJson(value)];
      } catch {
        return [name, `(${typeof value} without a JSON form)`];
      }
    }),
  );
}

function guarded(problem: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    log.error(problem, { error });
  }
}

function raise(message: string): never {
  throw new A2EError("sandbox_crash", message);
}

/** Sends changes of states first, so that the host has them before the message. */
function post(message: FromPluginThread): void {
  states.flush();
  parentPort?.postMessage(message);
}
