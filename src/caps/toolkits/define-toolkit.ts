// Writing a toolkit: one object in one file. Its config is described by a schema, its tools share what `start` returns.
import { z } from "zod";
import type { CallContext } from "../../host/call-context.ts";
import type { Logger } from "../../host/logger.ts";
import type { CatalogueTool } from "../../host/tool-catalogue.ts";
import type { ToolOutput } from "../../host/tool-output.ts";
import type { Awaitable } from "../../protocol/awaitable.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { ToolkitScope } from "./protocol.ts";
import { createCheck } from "./schema-check.ts";

type Schema = z.ZodObject | JsonObject;
type ValueOf<Given> = Given extends z.ZodObject ? z.output<Given> : JsonObject;

/** What a toolkit gets from its host when it starts. */
export interface StartContext {
  /** The folder that agents' files are in. */
  readonly workspaceDir: string;
  /** Where this toolkit may keep files. It may not exist yet. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Aborted where the start takes too long, or nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/** A toolkit that runs, as its tools see it. */
export interface Running<Config, Resource> {
  readonly config: Config;
  /** What `start` returned. */
  readonly resource: Resource;
  readonly log: Logger;
}

export interface ToolkitTool<Input extends Schema, Config, Resource> {
  /** For the model that decides whether to call it. */
  readonly description: string;
  /** A zod object or a JSON Schema. Unknown arguments are refused unless the schema lets them in. */
  readonly input: Input;
  /** JSON Schema of the data it returns. */
  readonly output?: JsonObject;
  readonly kind?: string;
  readonly tags?: readonly string[];
  /** Calling it twice does what calling it once does. */
  readonly idempotent?: boolean;
  /** It emits events while it runs. */
  readonly streaming?: boolean;
  readonly deferred?: boolean;
  readonly timeoutMs?: number;
  readonly annotations?: JsonObject;
  /**
   * Leaves the tool out for configs that have no use for it, as one that writes where only reading is allowed. Gets the
   * config without its secrets.
   */
  when?(config: JsonObject): boolean;
  /** Returns its data, or `toolkitOutput(…)` to say more. What it throws becomes a `tool_error`. */
  run(
    args: ValueOf<Input>,
    toolkit: Running<Config, Resource>,
    context: CallContext,
  ): Awaitable<JsonValue | ToolkitOutput | undefined>;
}

export interface ToolkitSpec<Config extends Schema, Resource, Inputs extends Record<string, Schema>> {
  /** Small letters, digits, single `_` and `-`: the names of its tools begin with it. */
  readonly name: string;
  readonly description: string;
  readonly category?: string;
  readonly tags?: readonly string[];
  readonly version?: string;
  readonly icon_svg?: string;
  /** Whether each session has its own or all sessions of a host share one. */
  readonly scope?: ToolkitScope;
  /**
   * A zod object or a JSON Schema of the config. What is marked `format: "password"`, `writeOnly: true` or
   * `"x-secret": true` is a secret: stored sealed, shown to nobody. Unknown properties are refused unless let in.
   */
  readonly config?: Config;
  /** Opens what the tools share. May run again after a restart of the host; what it rejects with is told to the agent. */
  start?(config: ValueOf<NoInfer<Config>>, context: StartContext): Awaitable<Resource>;
  /** Closes it, once no call uses it any more. */
  stop?(resource: NoInfer<Resource>): Awaitable<void>;
  /** By their names, before which the toolkit's own is put: `forecast` of `weather` is `weather__forecast`. */
  readonly tools: {
    readonly [Name in keyof Inputs]: ToolkitTool<Inputs[Name], ValueOf<NoInfer<Config>>, NoInfer<Resource>>;
  };
}

/** A toolkit as the host runs it: its config and resource are its own affair, both schemas are JSON Schemas. */
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
  /** Fills in defaults and names all problems. */
  readonly checkConfig: CatalogueTool["check"];
  /** What zod makes of a config that was checked. */
  parseConfig(config: JsonObject): unknown;
  start(config: unknown, context: StartContext): Awaitable<unknown>;
  stop(resource: unknown): Awaitable<void>;
  readonly tools: ReadonlyMap<string, AnyToolkitTool>;
}

type RunAny = (args: unknown, toolkit: Running<unknown, unknown>, context: CallContext) => unknown;

export interface AnyToolkitTool extends Omit<ToolkitTool<JsonObject, unknown, unknown>, "run"> {
  /** Made once: every session that has the toolkit shares it. */
  readonly check: CatalogueTool["check"];
  parse(args: JsonObject): unknown;
  readonly run: RunAny;
}

// Both hold across copies of this package: a toolkit may be installed beside another one.
const toolkitMark = Symbol.for("a2e.toolkit");
const outputMark = Symbol.for("a2e.tool-output");

export interface ToolkitOutput extends ToolOutput {
  readonly [outputMark]: true;
}

/** A result with more than data: a summary, or an `error` that the agent sees as a result and not as a failed call. */
export function toolkitOutput(output: Partial<ToolOutput>): ToolkitOutput {
  return { data: null, ...output, [outputMark]: true };
}

/** What a tool returned, as the catalogue wants it. */
export function toToolOutput(returned: unknown): ToolOutput {
  if (typeof returned === "object" && returned !== null && outputMark in returned) return returned as ToolkitOutput;
  return { data: (returned ?? null) as JsonValue };
}

/** Aliases too. No double underscore, which parts the name of a toolkit from that of a tool. */
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
      `"${name}" is no name for a toolkit: use up to ${maxNameLength} small letters, digits, single _ and -`,
    );
  if (typeof spec.description !== "string") throw new TypeError(`toolkit "${name}": description must be a text`);
  const tools = new Map<string, AnyToolkitTool>();
  for (const [toolName, tool] of Object.entries(spec.tools)) {
    if (!toolNamePattern.test(toolName)) throw new TypeError(`toolkit "${name}": "${toolName}" is no name for a tool`);
    const what = `toolkit "${name}", tool "${toolName}"`;
    // Not everybody who writes a toolkit has a compiler that says so.
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

/** A mistyped property must not vanish, and a mistyped secret must not be kept as none: unknown ones are refused. */
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
