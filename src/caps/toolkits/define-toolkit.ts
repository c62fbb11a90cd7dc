// The API for toolkit authors: one object per toolkit. A schema describes its config, and its tools share the result of
// `start`.
import { z } from "zod";
import type { CallContext } from "../../plugin/call-context.ts";
import type { Logger } from "../../plugin/logger.ts";
import type { CatalogueTool } from "../../plugin/tool-catalogue.ts";
import type { ToolOutput } from "../../plugin/tool-output.ts";
import type { Awaitable } from "../../protocol/awaitable.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { ToolkitScope } from "./protocol.ts";
import { createCheck } from "./schema-check.ts";

type Schema = z.ZodObject | JsonObject;
type ValueOf<Given> = Given extends z.ZodObject ? z.output<Given> : JsonObject;

/** Passed to `start` of a toolkit. */
export interface StartContext {
  /** The folder with the files of agents. */
  readonly workspaceDir: string;
  /** A folder for files of this toolkit. It may not exist yet. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Aborted if the start times out or its call has ended. */
  readonly signal: AbortSignal;
}

/** A running toolkit, as its tools see it. */
export interface Running<Config, Resource> {
  readonly config: Config;
  /** The value that `start` returned. */
  readonly resource: Resource;
  readonly log: Logger;
}

export interface ToolkitTool<Input extends Schema, Config, Resource> {
  /** Written for the model that decides whether to call the tool. */
  readonly description: string;
  /** A zod object or a JSON Schema. Unknown arguments are rejected unless the schema allows them. */
  readonly input: Input;
  /** JSON Schema of the result. */
  readonly output?: JsonObject;
  readonly kind?: string;
  readonly tags?: readonly string[];
  /** A second call with the same arguments has no further effect. */
  readonly idempotent?: boolean;
  /** The tool emits events while it runs. */
  readonly streaming?: boolean;
  readonly deferred?: boolean;
  readonly timeoutMs?: number;
  readonly annotations?: JsonObject;
  /**
   * Leaves the tool out if the config has no use for it, for example a tool that writes if the config allows only
   * reading. Called with the config without its secrets.
   */
  when?(config: JsonObject): boolean;
  /** Returns the data, or `toolkitOutput(…)` to add a summary or an error. A thrown error becomes a `tool_error`. */
  run(
    args: ValueOf<Input>,
    toolkit: Running<Config, Resource>,
    context: CallContext,
  ): Awaitable<JsonValue | ToolkitOutput | undefined>;
}

export interface ToolkitSpec<Config extends Schema, Resource, Inputs extends Record<string, Schema>> {
  /** Small letters, digits, single `_` and `-`. The names of the tools begin with it. */
  readonly name: string;
  readonly description: string;
  readonly category?: string;
  readonly tags?: readonly string[];
  readonly version?: string;
  readonly icon_svg?: string;
  /** Whether each session has its own instance or all sessions of a host share one. */
  readonly scope?: ToolkitScope;
  /**
   * A zod object or a JSON Schema of the config. Values marked `format: "password"`, `writeOnly: true` or `"x-secret":
   * true` are secrets: they are stored encrypted and never returned. Unknown properties are rejected unless the schema
   * allows them.
   */
  readonly config?: Config;
  /**
   * Opens the resource that the tools share. May run again after a restart of the host. If it rejects, the agent sees
   * the error.
   */
  start?(config: ValueOf<NoInfer<Config>>, context: StartContext): Awaitable<Resource>;
  /** Closes the resource when no call uses it any more. */
  stop?(resource: NoInfer<Resource>): Awaitable<void>;
  /** Tools by name. The name of the toolkit is put before it: `forecast` of `weather` becomes `weather__forecast`. */
  readonly tools: {
    readonly [Name in keyof Inputs]: ToolkitTool<Inputs[Name], ValueOf<NoInfer<Config>>, NoInfer<Resource>>;
  };
}

/** A toolkit with its types erased, as the host runs it. Both schemas are JSON Schemas. */
export interface Toolkit {
  readonly [toolkitMark]: true;
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly tags: readonly string[];
  readonly version: string;
  readonly icon_svg: string | undefined;
  readonly scope: ToolkitScope;
  readonly configSchema: JsonObject;
  /** Fills in defaults and reports all problems. */
  readonly checkConfig: CatalogueTool["check"];
  /** Converts a checked config to the output of the zod schema. */
  parseConfig(config: JsonObject): unknown;
  start(config: unknown, context: StartContext): Awaitable<unknown>;
  stop(resource: unknown): Awaitable<void>;
  readonly tools: ReadonlyMap<string, AnyToolkitTool>;
}

type RunAny = (args: unknown, toolkit: Running<unknown, unknown>, context: CallContext) => unknown;

export interface AnyToolkitTool extends Omit<ToolkitTool<JsonObject, unknown, unknown>, "run"> {
  /** Created once and shared by all sessions that use the toolkit. */
  readonly check: CatalogueTool["check"];
  parse(args: JsonObject): unknown;
  readonly run: RunAny;
}

// Global symbols, since a toolkit may have been built with another copy of this package.
const toolkitMark = Symbol.for("a2e.toolkit");
const outputMark = Symbol.for("a2e.tool-output");

export interface ToolkitOutput extends ToolOutput {
  readonly [outputMark]: true;
}

/** A result with more than data: a summary, or an `error` that the agent sees as a result and not as a failed call. */
export function toolkitOutput(output: Partial<ToolOutput>): ToolkitOutput {
  return { data: null, ...output, [outputMark]: true };
}

/** Converts the return value of a tool for the catalogue. */
export function toToolOutput(returned: unknown): ToolOutput {
  if (typeof returned === "object" && returned !== null && outputMark in returned) return returned as ToolkitOutput;
  return { data: (returned ?? null) as JsonValue };
}

/** Also for aliases. Excludes the double underscore, which separates the names of toolkit and tool. */
export const toolkitNamePattern = /^[a-z0-9]+(?:[_-][a-z0-9]+)*$/;
const maxNameLength = 48;
const toolNamePattern = /^[A-Za-z0-9_.-]{1,64}$/;

export function isToolkitName(name: string): boolean {
  return name.length <= maxNameLength && toolkitNamePattern.test(name);
}

export function defineToolkit<
  const Config extends Schema = JsonObject,
  Resource = undefined,
  const Inputs extends Record<string, Schema> = Record<string, Schema>,
>(spec: ToolkitSpec<Config, Resource, Inputs>): Toolkit {
  const { name, config = { type: "object", properties: {} } } = spec;
  if (!isToolkitName(name))
    throw new TypeError(
      `"${name}" is not a valid toolkit name: use up to ${maxNameLength} small letters, digits, single _ and -`,
    );
  if (typeof spec.description !== "string") throw new TypeError(`toolkit "${name}": description must be a string`);
  const tools = new Map<string, AnyToolkitTool>();
  for (const [toolName, tool] of Object.entries(spec.tools)) {
    if (!toolNamePattern.test(toolName))
      throw new TypeError(`toolkit "${name}": "${toolName}" is not a valid tool name`);
    const what = `toolkit "${name}", tool "${toolName}"`;
    // Authors who write JavaScript have no compiler that checks this.
    if (typeof tool.description !== "string" || typeof tool.input !== "object" || typeof tool.run !== "function")
      throw new TypeError(`${what}: needs a description, an input schema and a function run`);
    const { parse, schema } = toJsonSchema(tool.input, what);
    const check = createCheck(schema, parse);
    tools.set(toolName, { ...tool, input: schema, check, parse, run: tool.run.bind(tool) as RunAny });
  }
  if (tools.size === 0) throw new TypeError(`toolkit "${name}" has no tools`);
  const { parse, schema } = toJsonSchema(config, `config of the toolkit "${name}"`);
  return {
    [toolkitMark]: true,
    name,
    description: spec.description,
    category: spec.category ?? "",
    tags: spec.tags ?? [],
    version: spec.version ?? "1.0.0",
    icon_svg: spec.icon_svg,
    scope: spec.scope ?? "session",
    configSchema: schema,
    checkConfig: createCheck(schema, parse),
    parseConfig: parse,
    start: (given, context) => spec.start?.(given as ValueOf<Config>, context),
    stop: (resource) => spec.stop?.(resource as Resource),
    tools,
  };
}

export function isToolkit(value: unknown): value is Toolkit {
  return typeof value === "object" && value !== null && toolkitMark in value;
}

/**
 * Rejects unknown properties: a mistyped name must not be dropped, and a mistyped secret must not be stored in the
 * clear.
 */
function toJsonSchema(given: Schema, what: string): { schema: JsonObject; parse(value: JsonObject): unknown } {
  if (!isZod(given)) {
    if (given.type !== "object") throw new TypeError(`${what}: its JSON Schema needs "type": "object"`);
    const saysMore = ["additionalProperties", "unevaluatedProperties", "patternProperties", "allOf", "$ref"];
    const isOpen = saysMore.some((keyword) => keyword in given);
    return { schema: isOpen ? given : { ...given, additionalProperties: false }, parse: (value) => value };
  }
  const strict = given.def.catchall === undefined ? given.strict() : given;
  const { $schema: _draft, ...schema } = z.toJSONSchema(strict, { io: "input", unrepresentable: "any" });
  return { schema: schema as JsonObject, parse: (value) => strict.parse(value) };
}

function isZod(schema: Schema): schema is z.ZodObject {
  return "_zod" in schema;
}
