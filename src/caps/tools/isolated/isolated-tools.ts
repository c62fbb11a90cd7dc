// Tools whose module is loaded and run only in worker threads: a tool that blocks forever is terminated at its timeout,
// alone.

import type { ModuleReference } from "../../../machinery/module-loading.ts";
import { siblingModule } from "../../../machinery/threads/thread-entry.ts";
import type { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import { createSchemaCheck } from "../../../machinery/validation/json-schema.ts";
import type { CallContext } from "../../../plugin/call-context.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { ToolOutput } from "../../../plugin/tool-output.ts";
import { messageOf } from "../../../protocol/errors.ts";
import { toolLimits } from "../limits.ts";
import type { DescribedTool, RunToolArguments, RunToolMessage } from "./tool-worker.ts";

export async function loadIsolatedTools(module: ModuleReference, pool: WorkerPool): Promise<CatalogueTool[]> {
  const job = { module: siblingModule("tool-worker", import.meta.url), exportName: "describeTools", args: module };
  try {
    const described = (await pool.run(job, { timeoutMs: toolLimits.moduleLoadTimeoutMs })) as DescribedTool[];
    return described.map((tool) => createIsolatedTool(tool, module, pool));
  } catch (cause) {
    const text = messageOf(cause);
    throw text.includes(module.name)
      ? cause
      : new Error(`tool module ${module.name} failed to load: ${text}`, { cause });
  }
}

function createIsolatedTool(tool: DescribedTool, module: ModuleReference, pool: WorkerPool): CatalogueTool {
  return {
    ...tool,
    // Also if the tool is declared pure: its thread is awaited, and terminated through the context.
    isPure: false,
    check: createSchemaCheck(tool.inputSchema),
    async run(args, context) {
      const job = {
        module: siblingModule("tool-worker", import.meta.url),
        exportName: "runTool",
        args: {
          module,
          name: tool.name,
          args,
          callId: context.id,
          session: context.session,
        } satisfies RunToolArguments,
      };
      const output = await pool.run(job, {
        signal: context.signal,
        owner: context.session.id,
        timeoutMs: tool.timeoutMs ?? toolLimits.isolatedTimeoutMs,
        onMessage: (message) => receive(message as RunToolMessage, context),
      });
      return output as ToolOutput;
    },
  };
}

function receive(message: RunToolMessage, context: CallContext): void {
  if ("event" in message) context.emit(message.event.kind, message.event.data);
  else if ("timeoutMs" in message) context.setTimeout(message.timeoutMs);
  else context.log[message.log.level](message.log.message, message.log.fields);
}
