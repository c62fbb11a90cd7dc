// Tools for requirements about calls, events, time and errors. A host without them is asked less, and the score shows
// what was left out. `modules: [a2e/conformance]` adds them.
import { z } from "zod";
import { defineTool, toolOutput } from "../caps/tools/definition/define-tool.ts";
import type { CatalogueTool } from "../plugin/tool-catalogue.ts";
import { A2EError } from "../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../protocol/json.ts";

export type ReferenceTool =
  | "conformance_echo"
  | "conformance_wait"
  | "conformance_emit"
  | "conformance_fail"
  | "conformance_count"
  | "conformance_deferred";

/** A tool that a host should have and deny: the tools plugin's option `deny: ["conformance_denied"]` does it. */
export const deniedToolName = "conformance_denied";

const tags = ["conformance"];

export function createReferenceTools(): CatalogueTool[] {
  const counts = new Map<string, number>();
  return [
    defineTool({
      name: "conformance_echo",
      description: "Returns the value it is given.",
      tags: [...tags, "echo"],
      input: z.object({ value: z.json().default(null), times: z.int().min(1).max(10).optional() }),
      run: ({ value }) => value as JsonValue,
    }),
    defineTool({
      name: "conformance_wait",
      description: "Sends an event when it starts, waits, and returns.",
      tags,
      streaming: true,
      input: z.object({ ms: z.int().min(0).max(600_000) }),
      run({ ms }, context) {
        const { signal } = context;
        context.emit("status", { started: true });
        return new Promise<JsonValue>((resolve, reject) => {
          const timer = setTimeout(() => resolve({ waited_ms: ms }), ms);
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
          });
        });
      },
    }),
    defineTool({
      name: "conformance_emit",
      description: "Sends events, then returns how many.",
      tags: [...tags, "events"],
      streaming: true,
      input: z.object({
        count: z.int().min(0).max(1000),
        kind: z.string().default("progress"),
        data: z.json().optional().describe("The data of each event, instead of its number."),
      }),
      async run({ count, kind, data }, context) {
        for (let index = 1; index <= count; index++) {
          context.emit(kind, (data === undefined ? { index } : data) as JsonObject);
          // Leaves room for other calls in between.
          if (index % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        return { count };
      },
    }),
    defineTool({
      name: "conformance_fail",
      description: "Fails: by throwing, by throwing an error of a given code, or by a result that says so.",
      tags,
      kind: "conformance",
      input: z.object({
        message: z.string(),
        how: z.enum(["throw", "code", "result"]).default("throw"),
        code: z.string().default(""),
      }),
      run({ message, how, code }) {
        if (how === "result") return toolOutput({ error: message, exit_code: 3 });
        throw how === "code" ? new A2EError(code, message) : new Error(message);
      },
    }),
    defineTool({
      name: "conformance_count",
      description: "Counts how often it ran for a key.",
      tags,
      input: z.object({ key: z.string() }),
      run({ key }) {
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        return { count };
      },
    }),
    defineTool({
      name: "conformance_deferred",
      description: "Is left out of lists unless it is searched for: xylophone.",
      tags,
      deferred: true,
      input: z.object({}),
      run: () => null,
    }),
    defineTool({
      name: deniedToolName,
      description: "Should be denied by the host's policy.",
      tags,
      input: z.object({}),
      run: () => null,
    }),
  ];
}
