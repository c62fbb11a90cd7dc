// The table language. A capability is a single value, from which types, validation, client methods, handler types, JSON
// Schema, the reference page and conformance vectors are derived, so that nothing is written twice.
import type { z } from "zod";
import { A2EError, type CoreErrorCode, type ErrorOptions, type ErrorTable } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { About } from "./about.ts";
import { createParser } from "./parse.ts";

type Schema = z.ZodObject;

/** A request and its answer. */
export interface Call<Request extends Schema = Schema, Result extends Schema = Schema> {
  readonly type: string;
  readonly responseType: string;
  /** A sentence for the reference page. */
  readonly doc: string;
  readonly request: Request;
  readonly result: Result;
  /** The resources that the call names, and whether it reads or writes: rights are checked against it. */
  readonly about: About;
  /** Other spellings of the request type, each with the response type of its family. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Result fields repeated under a second name, for peers that read that name: second name → path of the first. */
  readonly mirrors: Readonly<Record<string, string>>;
  /** The same as steps, since they are taken with every answer. */
  readonly mirrorPaths: readonly (readonly [second: string, path: readonly string[]])[];
  /** Steers the host itself and so is served at once, past the limit on parallel calls. */
  readonly isControl: boolean;
  /** For asks: the field of request and answer that carries the id of the ask beside `req_id`. */
  readonly correlatedBy: string | undefined;
  /** How the call is offered to a language model as a tool, for example over MCP; undefined if it is not offered. */
  readonly asTool: ToolOffer | undefined;
  /** Fields of the request that hold secrets: left out wherever requests are written down, as in a recording. */
  readonly concealed: readonly string[];
  readonly example: { readonly request: z.input<Request>; readonly result: z.input<Result> };
  /** Checks a request and fills in its defaults; the result is a copy. */
  parseRequest(value: unknown, capabilityName?: string): JsonObject | A2EError;
  parseResult(value: unknown, capabilityName?: string): JsonObject | A2EError;
}

/**
 * The effect of a call on the world, so that a client can decide whether to ask its user first: `reads` changes
 * nothing, `adds` only adds, `destroys` may change or remove existing data, `acts` also reaches beyond the host.
 */
export type ToolEffect = "reads" | "adds" | "destroys" | "acts";

export interface ToolOffer {
  readonly effect: ToolEffect;
  /** The name of the tool, if the name derived from the wire type would be misleading. */
  readonly name?: string;
}

/** A message that a host sends unasked. */
export interface Push<Payload extends Schema = Schema> {
  readonly type: string;
  readonly doc: string;
  readonly payload: Payload;
  readonly aliases: readonly string[];
  readonly example: z.input<Payload>;
}

export interface CapabilitySpec {
  readonly doc: string;
  /** Other names under which agents and configs ask for the capability, such as "tool" for "tools". */
  readonly spellings?: readonly string[];
  /** Names that an agent may request beside the capability, each with a description. */
  readonly features?: Readonly<Record<string, string>>;
  /** Type of the events that calls of this capability emit. */
  readonly event?: string;
  /** Fields of an event's data that are repeated beside it, for peers that read them there. */
  readonly eventFields?: readonly string[];
  readonly errors?: ErrorTable;
  /**
   * The kinds of resources that calls are about, each with a description. Roles name a resource as `kind:name`, for
   * example `tool:read_file`.
   */
  readonly resources?: Readonly<Record<string, string>>;
  readonly calls: Readonly<Record<string, Call>>;
  readonly pushes?: Readonly<Record<string, Push>>;
  /** Calls that go the other way: the host asks, the agent answers. */
  readonly asks?: Readonly<Record<string, Call>>;
}

export interface Capability<Name extends string = string, Spec extends CapabilitySpec = CapabilitySpec> {
  readonly name: Name;
  readonly doc: string;
  readonly spellings: readonly string[];
  readonly features: Readonly<Record<string, string>>;
  readonly event: string;
  readonly eventFields: readonly string[];
  readonly errors: ErrorTable;
  readonly resources: Readonly<Record<string, string>>;
  readonly calls: Spec["calls"];
  readonly pushes: PushesOf<Spec>;
  readonly asks: AsksOf<Spec>;
  /** An error of this capability: only its own codes and the core codes compile. */
  error(code: ErrorCodeOf<Spec>, message: string, options?: ErrorOptions): A2EError;
}

type PushesOf<Spec extends CapabilitySpec> =
  Spec["pushes"] extends Readonly<Record<string, Push>> ? Spec["pushes"] : Readonly<Record<string, Push>>;

type AsksOf<Spec extends CapabilitySpec> =
  Spec["asks"] extends Readonly<Record<string, Call>> ? Spec["asks"] : Readonly<Record<string, Call>>;

type ErrorCodeOf<Spec extends CapabilitySpec> =
  | CoreErrorCode
  | (Spec["errors"] extends ErrorTable ? keyof Spec["errors"] & string : never);

/** The request as a handler receives it: defaults are filled in. */
export type RequestOf<C extends Call> = z.output<C["request"]>;
/** The request as a caller passes it: fields with a default are optional. */
export type RequestInputOf<C extends Call> = z.input<C["request"]>;
export type ResultOf<C extends Call> = z.output<C["result"]>;
/** The result as a handler returns it: fields with a default are optional. */
export type ResultInputOf<C extends Call> = z.input<C["result"]>;

export const coreEventType = "invoke/event";

export function capability<const Name extends string, const Spec extends CapabilitySpec>(
  name: Name,
  spec: Spec,
): Capability<Name, Spec> {
  const errors: ErrorTable = spec.errors ?? {};
  const resources = spec.resources ?? {};
  for (const { type, about } of Object.values(spec.calls)) {
    if (about.resource !== undefined && !Object.hasOwn(resources, about.resource))
      throw new Error(`${type} is about a resource "${about.resource}", which "${name}" does not list in resources`);
  }
  return {
    name,
    doc: spec.doc,
    spellings: spec.spellings ?? [],
    features: spec.features ?? {},
    event: spec.event ?? coreEventType,
    eventFields: spec.eventFields ?? [],
    errors,
    resources,
    calls: spec.calls,
    pushes: (spec.pushes ?? {}) as PushesOf<Spec>,
    asks: (spec.asks ?? {}) as AsksOf<Spec>,
    error: (code, message, options) =>
      new A2EError(code, message, {
        capability_name: name,
        ...(code in errors ? { retryable: errors[code]?.retryable ?? false } : {}),
        ...options,
      }),
  };
}

interface CallDeclaration<Request extends Schema, Result extends Schema> {
  doc: string;
  request: Request;
  result: Result;
  about: About<keyof z.output<Request> & string>;
  aliases?: Record<string, string>;
  mirrors?: Record<string, string>;
  isControl?: boolean;
  correlatedBy?: string;
  asTool?: ToolOffer;
  concealed?: readonly string[];
  example: { request: z.input<Request>; result: z.input<Result> };
}

/** Throws if `about` is missing, which only code without types can do: such a call would escape all rights. */
export function call<Request extends Schema, Result extends Schema>(
  type: string,
  responseType: string,
  {
    aliases = {},
    mirrors = {},
    isControl = false,
    correlatedBy,
    asTool,
    concealed = [],
    ...rest
  }: CallDeclaration<Request, Result>,
): Call<Request, Result> {
  if (rest.about === undefined)
    throw new Error(`${type} needs an "about", such as about: { access: "read" } for a call that names no resource`);
  const parseRequest = createParser(rest.request);
  const parseResult = createParser(rest.result);
  const mirrorPaths = Object.entries(mirrors).map(([second, path]) => [second, path.split(".")] as const);
  return {
    type,
    responseType,
    aliases,
    mirrors,
    mirrorPaths,
    isControl,
    correlatedBy,
    asTool,
    concealed,
    parseRequest,
    parseResult,
    ...rest,
  };
}

type AskDeclaration<Request extends Schema, Result extends Schema> = Omit<
  CallDeclaration<Request, Result>,
  "about" | "asTool" | "isControl"
>;

/** A call the other way: the host asks, the agent answers. It needs no right. */
export function ask<Request extends Schema, Result extends Schema>(
  type: string,
  responseType: string,
  declaration: AskDeclaration<Request, Result>,
): Call<Request, Result> {
  return call(type, responseType, { ...declaration, about: { access: "none" } });
}

export function push<Payload extends Schema>(
  type: string,
  { aliases = [], ...rest }: { doc: string; payload: Payload; aliases?: string[]; example: z.input<Payload> },
): Push<Payload> {
  return { type, aliases, ...rest };
}
