// The smallest host that a handler can run in; only for the tests of this folder.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPluginContext, createSessionContext } from "../../host/session/plugin-contexts.suite.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import { CheckedResult } from "../../plugin/checked-result.ts";
import { silentLogger } from "../../plugin/logger.ts";
import type { Plugin } from "../../plugin/plugin.ts";
import { anonymous } from "../../plugin/principal.ts";
import { type CatalogueTool, ToolCatalogue } from "../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RequestInputOf, ResultInputOf } from "../../protocol/table/capability.ts";
import { type ToolsPluginOptions, toolsPlugin } from "./plugin.ts";
import { tools } from "./protocol.ts";

type CallName = keyof typeof tools.calls;

export interface TestCall extends CallContext {
  readonly events: { kind: string; data: JsonObject }[];
  timeoutMs: number | undefined;
  now: number;
  abort(reason: Error): void;
}

export function createTestCall(): TestCall {
  const controller = new AbortController();
  const call: TestCall = {
    id: "call-1",
    session: { id: "session-1", principal: anonymous },
    log: silentLogger,
    events: [],
    timeoutMs: undefined,
    now: 1_000_000,
    clock: { now: () => call.now },
    startedAt: 1_000_000,
    signal: controller.signal,
    get isEnded() {
      return controller.signal.aborted;
    },
    emit: (kind, data) => void call.events.push({ kind, data }),
    setTimeout: (timeoutMs) => {
      call.timeoutMs = timeoutMs;
    },
    call: () => Promise.reject(new Error("no other capability here")),
    callNow: () => Promise.reject(new Error("no other capability here")),
    inlineCall: () => undefined,
    abort: (reason) => controller.abort(reason),
  };
  return call;
}

/** Checks arguments and runs a tool as the plugin does, without converting its result. */
export async function runTool(tool: CatalogueTool, args: JsonObject, context: CallContext = createTestCall()) {
  const checked = tool.check(args);
  if ("problems" in checked) throw new Error(JSON.stringify(checked.problems));
  return tool.run(checked.value, context);
}

/** A plugin with one session, and a workspace that is removed with it. */
export async function startTools(options: ToolsPluginOptions = {}, catalogue = new ToolCatalogue()) {
  const plugin: Plugin<typeof tools> = toolsPlugin(options);
  const folder = await mkdtemp(join(tmpdir(), "a2e-tools-"));
  const pushed: unknown[] = [];
  const context = createPluginContext({ name: "tools", dataDir: folder, workspaceDir: folder, tools: catalogue });
  try {
    await plugin.setup?.(context);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  const sessionContext = createSessionContext({
    tools: new ToolCatalogue(catalogue),
    push: (_push, payload) => void pushed.push(payload),
  });
  const part = await plugin.session(sessionContext);
  const handle = <Name extends CallName>(
    name: Name,
    request: RequestInputOf<(typeof tools.calls)[Name]>,
    call = createTestCall(),
  ) => {
    const parsed = tools.calls[name].request.parse(request);
    const result = part.handlers[name](parsed as never, call);
    return toFields(result) as ResultInputOf<(typeof tools.calls)[Name]>;
  };
  return {
    catalogue,
    sessionTools: sessionContext.tools,
    folder,
    pushed,
    plugin,
    part,
    handle,
    call: (tool_name: string, args: JsonObject = {}, call = createTestCall()) =>
      Promise.resolve().then(() => handle("call", { tool_name, arguments: args }, call)),
    list: (request: RequestInputOf<(typeof tools.calls)["list"]> = {}) =>
      (handle("list", request).tools ?? []).map(({ name }) => name),
    async [Symbol.asyncDispose]() {
      await part.close?.();
      await plugin.close?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The kernel's answer for a checked result. */
function toFields(result: unknown): unknown {
  if (result instanceof Promise) return result.then(toFields);
  return result instanceof CheckedResult ? result.fields : result;
}
