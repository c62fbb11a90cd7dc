import { z } from "zod";
import { siblingModule } from "../../../machinery/threads/thread-entry.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import { jsonValue, parseJson } from "../../../protocol/json.ts";
import { defineTool, toolOutput } from "../definition/define-tool.ts";
import { toolLimits } from "../limits.ts";
import type { BuiltinEnvironment } from "./environment.ts";
import type { JsEvalArguments, JsEvalLog, JsEvalResult } from "./js-eval-worker.ts";

/**
 * The sandbox enforces the timeout itself; its worker is terminated only if that fails, for example in a long native
 * operation.
 */
const backstopMs = 2_000;

export function jsEvalTool({ scriptPool, js }: BuiltinEnvironment): CatalogueTool {
  return defineTool({
    name: "js_eval",
    description:
      "Runs JavaScript in a sandbox without network, files or timers and returns the value of its last expression as JSON. " +
      "The variable `input` holds the argument of that name; console.log is reported as log events.",
    tags: ["code"],
    streaming: true,
    input: z.object({
      code: z
        .string()
        .min(1)
        .max(256 * 1024)
        .describe("A script; a promise as its last expression is awaited."),
      input: jsonValue.default(null).describe("Any JSON value."),
    }),
    async run({ code, input }, context) {
      const args: JsEvalArguments = {
        code,
        input: JSON.stringify(input),
        memoryBytes: js.memoryMb * 1024 * 1024,
        timeoutMs: js.timeoutMs,
        maxResultLength: toolLimits.maxResultBytes,
      };
      const job = { module: siblingModule("js-eval-worker", import.meta.url), exportName: "evaluate", args };
      const result = (await scriptPool.run(job, {
        signal: context.signal,
        owner: context.session.id,
        timeoutMs: js.timeoutMs + backstopMs,
        onMessage: (message) => context.emit("log", { ...(message as JsEvalLog) }),
      })) as JsEvalResult;
      if ("error" in result) return toolOutput({ error: result.error, error_code: "js_error" });
      return toolOutput({ data: parseJson(result.json) });
    },
  });
}
