// A host with a few tools and the chains plugin, for the tests of this folder.
import * as z from "zod";
import type { CallContext } from "../../plugin/call-context.ts";
import type { Plugin } from "../../plugin/plugin.ts";
import type { PluginEntry } from "../../plugin/plugin-set.ts";
import type { CatalogueTool } from "../../plugin/tool-catalogue.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Limits } from "../../protocol/limits.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { defineTool } from "../tools/definition/define-tool.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import type { ChainsOptions } from "./options.ts";
import { chainsPlugin } from "./plugin.ts";
import type { ChainNode } from "./protocol.ts";

export interface Recorder {
  /** Names and arguments of the calls, in the order in which they started. */
  readonly calls: { tool: string; args: unknown; id: string }[];
  /** The number of `wait` calls in progress, and the maximum so far. */
  waiting: number;
  mostWaiting: number;
  /** Calls that were aborted. */
  readonly stopped: string[];
  /** Lets the `wait` calls of this name return. */
  release(name: string): void;
  /** Lets them fail. */
  fail(name: string, error: Error): void;
}

interface Waiting {
  name: string;
  release(): void;
  fail(error: Error): void;
}

export function createRecordedTools() {
  const waiting = new Set<Waiting>();
  const attempts = new Map<string, number>();
  const recorder: Recorder = {
    calls: [],
    waiting: 0,
    mostWaiting: 0,
    stopped: [],
    release(name) {
      for (const entry of [...waiting]) if (entry.name === name) entry.release();
    },
    fail(name, error) {
      for (const entry of [...waiting]) if (entry.name === name) entry.fail(error);
    },
  };
  const note = (tool: string, args: unknown, { id }: CallContext) => recorder.calls.push({ tool, args, id });
  const loose = z.looseObject({});
  const tools = [
    defineTool({
      name: "echo",
      description: "Returns its arguments.",
      input: loose,
      run(args, context) {
        note("echo", args, context);
        return args as JsonObject;
      },
    }),
    defineTool({
      name: "later",
      description: "Returns its arguments, but not at once.",
      input: loose,
      async run(args, context) {
        note("later", args, context);
        await new Promise(setImmediate);
        return args as JsonObject;
      },
    }),
    defineTool({
      name: "wait",
      description: "Waits to be released; fails where it is called broken.",
      input: z.object({ name: z.string().default("") }),
      run({ name }, context) {
        note("wait", { name }, context);
        if (name === "broken") throw new A2EError("runtime_error", "broken", { retryable: false });
        recorder.waiting += 1;
        recorder.mostWaiting = Math.max(recorder.mostWaiting, recorder.waiting);
        return new Promise<{ name: string }>((resolve, reject) => {
          const entry: Waiting = {
            name,
            release: () => end(() => resolve({ name })),
            fail: (error) => end(() => reject(error)),
          };
          const end = (settle: () => void) => {
            waiting.delete(entry);
            recorder.waiting -= 1;
            settle();
          };
          waiting.add(entry);
          context.signal.addEventListener("abort", () => {
            recorder.stopped.push(name);
            end(() => reject(context.signal.reason));
          });
        });
      },
    }),
    defineTool({
      name: "fail",
      description: "Fails, in the way it is told.",
      input: z.object({
        message: z.string().default("broken"),
        retryable: z.boolean().default(true),
        times: z.int().default(1e9),
        key: z.string().default(""),
      }),
      run({ message, retryable, times, key }, context) {
        note("fail", { message }, context);
        const count = (attempts.get(key) ?? 0) + 1;
        attempts.set(key, count);
        if (count <= times) throw new A2EError("runtime_error", message, { retryable });
        return { attempts: count };
      },
    }),
    defineTool({
      name: "add",
      description: "Adds numbers up.",
      input: z.object({ items: z.array(z.number()), plus: z.number().default(0) }),
      run: ({ items, plus }) => items.reduce((sum, item) => sum + item, plus),
    }),
    defineTool({
      name: "blow",
      description: "Returns a long text.",
      input: z.object({ length: z.int() }),
      run: ({ length }) => ({ text: "é😀".repeat(length) }),
    }),
  ];
  return { tools, recorder };
}

interface ChainsHostOptions {
  options?: ChainsOptions;
  limits?: Partial<Limits>;
  plugins?: readonly (Plugin | PluginEntry)[];
  /** In addition to the recorded ones. */
  tools?: readonly CatalogueTool[];
  /** A second plugin serves tools as well, so that neither is exclusive. */
  hasSecondTools?: boolean;
}

export async function startChains(given: ChainsHostOptions = {}) {
  const { options = {}, limits = {}, plugins = [], tools: more = [], hasSecondTools = false } = given;
  const { tools, recorder } = createRecordedTools();
  const database = await createSqliteDatabase({ path: ":memory:" });
  const exclusive = !hasSecondTools;
  const own = [toolsPlugin({ builtin: false, exclusive, tools: [...tools, ...more] }), chainsPlugin(options)] as const;
  const second = { plugin: toolsPlugin({ builtin: false, exclusive }), name: "others" };
  const others = [...plugins, ...(hasSecondTools ? [second] : [])];
  const host = await startHost({ plugins: [...own, ...(others as [])], database, limits });
  return { ...host, recorder, api: host.client.chains };
}

/** A node with the fields that most tests use. */
export function tool(node_id: string, name: string, rest: Partial<ChainNode> = {}): ChainNode {
  return { node_id, kind: "tool", name, ...rest };
}
