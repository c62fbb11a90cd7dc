// Defines a tool with one function call and a schema.
import type { z } from "zod";
import { createSchemaCheck } from "../../../machinery/validation/json-schema.ts";
import type { CallContext } from "../../../plugin/call-context.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { ToolOutput } from "../../../plugin/tool-output.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { createZodCheck, toInputSchema, withoutUnknownKeys } from "./zod-schema.ts";

type InputSchema = z.ZodObject | JsonObject;
type OutputSchema = z.ZodType | JsonObject;
type ArgumentsOf<Input> = Input extends z.ZodObject ? z.output<Input> : JsonObject;
type DataOf<Output> = Output extends z.ZodType ? z.input<Output> : JsonValue;
type Awaitable<Value> = Value | Promise<Value>;
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return has this type, and is a tool too
type Nothing = undefined | void;

export interface ToolSpec<Input extends InputSchema, Output extends OutputSchema> {
  /** Letters, digits, `_`, `-` and `.`: the characters that the function calling of language models accepts. */
  name: string;
  /** For the model that decides whether to call it. */
  description: string;
  /** A zod object or a JSON Schema. Unknown arguments are rejected unless the schema allows them. */
  input: Input;
  /** The schema of `data`. With zod it types the result of `run`; it is not checked at runtime. */
  output?: Output;
  kind?: string;
  tags?: readonly string[];
  version?: string;
  /** Calling it twice has the same effect as calling it once. */
  idempotent?: boolean;
  /** It emits events while it runs. */
  streaming?: boolean;
  /**
   * Its data follows from its arguments alone: `run` is given no context, returns its data and not a promise, and has no effects.
   * Chains run such a tool several times faster, and may run it twice.
   */
  pure?: boolean;
  /** Left out of lists, except of searches and of lists that ask for deferred tools. */
  deferred?: boolean;
  /** Timeout of a call that does not set one. */
  timeoutMs?: number;
  annotations?: JsonObject;
  /** The origin of the tool, for people; by default the name of the plugin that loads it. */
  source?: string;
  /**
   * Returns its data, or `toolOutput(…)` for more than data. A thrown error becomes a `tool_error`; an A2EError keeps
   * its code.
   */
  run(args: ArgumentsOf<Input>, context: CallContext): Awaitable<DataOf<Output> | MarkedOutput | Nothing>;
}

/** Marks results of `toolOutput`, so that data which happens to have a field `data` or `error` stays data. */
const outputMark = Symbol.for("a2e.tool-output");

export interface MarkedOutput extends ToolOutput {
  readonly [outputMark]: true;
}

/**
 * A result with more than data: a summary, an exit code, or an `error` that the agent gets as a result and not as a
 * failed call.
 */
export function toolOutput(output: Partial<ToolOutput>): MarkedOutput {
  return { data: null, ...output, [outputMark]: true };
}

const namePattern = /^[A-Za-z0-9_.-]{1,128}$/;

export function defineTool<Input extends InputSchema, Output extends OutputSchema = JsonObject>(
  spec: ToolSpec<Input, Output>,
): CatalogueTool {
  const { name, run } = spec;
  if (!namePattern.test(name))
    throw new TypeError(`"${name}" is not a valid tool name: use up to 128 of A-Z a-z 0-9 _ - .`);
  // Checked at runtime too, for tools in plain JavaScript: a tool without a description would make every list fail.
  if (typeof spec.description !== "string" || typeof spec.input !== "object" || typeof run !== "function")
    throw new TypeError(`tool "${name}": needs a description, an input schema and a function run`);
  const input = isZod(spec.input) ? withoutUnknownKeys(spec.input) : spec.input;
  if (!isZod(input) && input.type !== "object") {
    throw new TypeError(`tool "${name}": the JSON Schema of its input needs "type": "object"`);
  }
  if (spec.pure === true && spec.streaming === true)
    throw new TypeError(`tool "${name}": a pure tool has no context and cannot emit events`);
  const runSpec: CatalogueTool["run"] = (args, context) => {
    const returned = run.call(spec, args as ArgumentsOf<Input>, context) as unknown;
    return isPromiseLike(returned) ? Promise.resolve(returned).then(toOutput) : toOutput(returned);
  };
  const runPure: CatalogueTool["run"] = (args) => {
    const returned = (run as (args: ArgumentsOf<Input>) => unknown).call(spec, args as ArgumentsOf<Input>);
    if (isPromiseLike(returned)) throw new TypeError(`tool "${name}" is declared pure and returned a promise`);
    return toOutput(returned);
  };
  return {
    name,
    description: spec.description,
    kind: spec.kind ?? "function",
    tags: spec.tags ?? [],
    version: spec.version ?? "1.0.0",
    inputSchema: isZod(input) ? toInputSchema(input) : input,
    ...(spec.output === undefined
      ? {}
      : { outputSchema: isZod(spec.output) ? toInputSchema(spec.output) : spec.output }),
    isIdempotent: spec.idempotent ?? false,
    isStreaming: spec.streaming ?? false,
    isDeferred: spec.deferred ?? false,
    ...(spec.pure === true ? { isPure: true } : {}),
    source: spec.source ?? "",
    ...(spec.annotations === undefined ? {} : { annotations: spec.annotations }),
    ...(spec.timeoutMs === undefined ? {} : { timeoutMs: spec.timeoutMs }),
    check: isZod(input) ? createZodCheck(input) : createSchemaCheck(input),
    run: spec.pure === true ? runPure : runSpec,
  };
}

function isZod<Schema extends z.ZodType>(schema: Schema | JsonObject): schema is Schema {
  return "_zod" in schema;
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function toOutput(returned: unknown): ToolOutput {
  if (typeof returned === "object" && returned !== null && outputMark in returned) return returned as MarkedOutput;
  return { data: (returned ?? null) as JsonValue };
}
