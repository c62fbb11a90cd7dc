// The part of isolated tools that runs in a worker.

import type { ModuleReference } from "../../../machinery/module-loading.ts";
import type { WorkerContext } from "../../../machinery/threads/worker-entry.ts";
import type { CallContext, SessionInfo } from "../../../plugin/call-context.ts";
import type { LogFields, Logger } from "../../../plugin/logger.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { ToolOutput } from "../../../plugin/tool-output.ts";
import { systemClock } from "../../../protocol/envelope.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { copyJson, type JsonObject } from "../../../protocol/json.ts";
import { loadTools } from "../definition/tool-modules.ts";
import { schemaViolation } from "../problems.ts";

/** A tool without its functions, so that it can be sent to another thread. */
export type DescribedTool = Omit<CatalogueTool, "check" | "run">;

export interface RunToolArguments {
  module: ModuleReference;
  name: string;
  args: JsonObject;
  callId: string;
  session: SessionInfo;
}

export type RunToolMessage =
  | { event: { kind: string; data: JsonObject } }
  | { timeoutMs: number }
  | { log: { level: keyof Logger; message: string; fields: LogFields } };

export async function describeTools(module: ModuleReference): Promise<DescribedTool[]> {
  const tools = await loadTools(module);
  return tools.map(({ check: _check, run: _run, ...described }) => described);
}

export async function runTool(args: RunToolArguments, worker: WorkerContext): Promise<ToolOutput> {
  const tools = await loadTools(args.module);
  const tool = tools.find(({ name }) => name === args.name);
  if (tool === undefined) throw new Error(`${args.module.name} no longer exports "${args.name}"`);
  // The host has checked the JSON Schema; the tool's own check may be stricter.
  const checked = tool.check(args.args);
  if ("problems" in checked) throw schemaViolation(args.name, checked.problems);
  return copyJson({ ...(await tool.run(checked.value, createContext(args, worker))) });
}

function createContext({ callId, session }: RunToolArguments, { signal, send }: WorkerContext): CallContext {
  const post = (message: RunToolMessage) => send(message);
  const log =
    (level: keyof Logger) =>
    (message: string, fields: LogFields = {}) =>
      post({ log: { level, message, fields: copyJson(fields) } });
  return {
    id: callId,
    session,
    clock: systemClock,
    startedAt: systemClock.now(),
    signal,
    log: { info: log("info"), warn: log("warn"), error: log("error") },
    get isEnded() {
      return signal.aborted;
    },
    emit: (kind, data) => post({ event: { kind, data: copyJson(data) } }),
    setTimeout: (timeoutMs) => post({ timeoutMs }),
    call: refuseCall,
    callNow: refuseCall,
    inlineCall: () => undefined,
  };
}

function refuseCall(): Promise<never> {
  return Promise.reject(new A2EError("forbidden", "a tool in a worker cannot call other capabilities"));
}
