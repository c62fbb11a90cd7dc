// A JSON Schema for the whole protocol, from which other languages generate their types.

import { core, errorPayload, eventPayload, shutdownPayload } from "../../src/protocol/core.ts";
import { protocolVersion } from "../../src/protocol/envelope.ts";
import { coreErrors } from "../../src/protocol/errors.ts";
import type { Call, Capability, Push } from "../../src/protocol/table/capability.ts";
import { coreEventType } from "../../src/protocol/table/capability.ts";
import { type JsonSchema, toJsonSchema } from "./json-schema.ts";

type Definitions = Record<string, JsonSchema>;

export function createProtocolSchema(capabilities: readonly Capability[]): JsonSchema {
  const messages: Definitions = {};
  for (const capability of [core, ...capabilities]) {
    for (const [name, call] of Object.entries(capability.calls)) addCall(messages, capability, name, call);
    for (const [name, push] of Object.entries(capability.pushes))
      messages[push.type] = describePush(capability, name, push);
    for (const [name, ask] of Object.entries(capability.asks)) addAsk(messages, capability, name, ask);
    messages[capability.event] ??= describeEvent(capability);
  }
  messages.shutdown = fromAgent("shutdown", [], toJsonSchema(shutdownPayload, "input"), {
    description: "Ends the session once its calls are done, or after the timeout; has no answer.",
    "x-kind": "shutdown",
    "x-capability": core.name,
  });
  messages.error = describeError(capabilities);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A2E protocol",
    description: `Every message of A2E ${protocolVersion}. One line of NDJSON is one of these; unknown fields are allowed everywhere.`,
    oneOf: Object.keys(messages).map((type) => ({ $ref: referenceTo(type) })),
    $defs: { "request-envelope": requestEnvelope, "host-envelope": hostEnvelope, ...messages },
  };
}

/** A pointer to the definition of a message type: `tool/call/req` → `#/$defs/tool~1call~1req`. */
export function referenceTo(type: string): string {
  return `#/$defs/${type.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const envelopeFields: Record<string, JsonSchema> = {
  type: { type: "string", minLength: 1 },
  id: { type: "string", description: "Chosen by the sender; a request repeated under its id runs once." },
  a2e: { type: "string", description: "Protocol version; says the same as `version`." },
  version: { type: "string", description: "Protocol version." },
  ts: { type: "number", description: "Seconds since 1970." },
};

const requestEnvelope: JsonSchema = {
  description:
    "What an agent sends with every message. Only `type` is required; a request without an id is answered without req_id.",
  type: "object",
  properties: envelopeFields,
  required: ["type"],
};

const hostEnvelope: JsonSchema = {
  description: "What a host sends with every message.",
  type: "object",
  properties: envelopeFields,
  required: Object.keys(envelopeFields),
};

const reqId: JsonSchema = { type: "string", description: "The id of the request that this belongs to." };

function addCall(messages: Definitions, capability: Capability, name: string, call: Call): void {
  const about = { "x-capability": capability.name, "x-call": name };
  const aliases = Object.keys(call.aliases).filter((alias) => alias !== call.responseType);
  messages[call.type] = fromAgent(call.type, aliases, toJsonSchema(call.request, "input"), {
    description: call.doc,
    "x-kind": "request",
    ...about,
    "x-about": call.about,
    "x-response": call.responseType,
  });
  const families = [...new Set(Object.values(call.aliases))].filter((type) => type !== call.responseType);
  messages[call.responseType] = fromHost(
    call.responseType,
    families,
    withField(toJsonSchema(call.result, "output"), "req_id", reqId),
    {
      description: `Answers ${call.type}.`,
      "x-kind": "response",
      ...about,
      ...(Object.keys(call.mirrors).length === 0 ? {} : { "x-mirrors": call.mirrors }),
    },
  );
}

/** The other way round: the host asks, the agent answers. */
function addAsk(messages: Definitions, capability: Capability, name: string, ask: Call): void {
  const about = { "x-capability": capability.name, "x-ask": name };
  const families = [...new Set(Object.values(ask.aliases))];
  messages[ask.type] = fromHost(ask.type, Object.keys(ask.aliases), toJsonSchema(ask.request, "output"), {
    description: ask.doc,
    "x-kind": "ask",
    ...about,
    "x-response": ask.responseType,
  });
  messages[ask.responseType] = fromAgent(
    ask.responseType,
    families,
    withField(toJsonSchema(ask.result, "input"), "req_id", reqId),
    { description: `Answers ${ask.type}.`, "x-kind": "reply", ...about },
  );
}

function describePush(capability: Capability, name: string, { type, aliases, doc, payload }: Push): JsonSchema {
  const about = { description: doc, "x-kind": "push", "x-capability": capability.name, "x-push": name };
  return fromHost(type, aliases, toJsonSchema(payload, "output"), about);
}

function describeEvent(capability: Capability): JsonSchema {
  const isShared = capability.event === coreEventType;
  return fromHost(capability.event, [], withField(toJsonSchema(eventPayload, "output"), "req_id", reqId), {
    description: `An event of a call in flight${isShared ? "" : ` of ${capability.name}`}; always before its answer.`,
    "x-kind": "event",
    "x-capability": isShared ? core.name : capability.name,
  });
}

function describeError(capabilities: readonly Capability[]): JsonSchema {
  const tables = [{ name: core.name, errors: coreErrors }, ...capabilities];
  const codes = tables.flatMap(({ name, errors }) =>
    Object.entries(errors).map(([code, about]) => [code, { ...about, capability: name }]),
  );
  const body = toJsonSchema(errorPayload, "output");
  return fromHost(
    "error",
    [],
    { ...body, properties: { ...body.properties, req_id: reqId } },
    {
      description: "Answers a request that failed. Without req_id where the line had no id to answer.",
      "x-kind": "error",
      "x-capability": core.name,
      "x-codes": Object.fromEntries(codes),
    },
  );
}

function fromAgent(type: string, aliases: readonly string[], body: JsonSchema, about: JsonSchema): JsonSchema {
  return message("request-envelope", type, aliases, body, about);
}

function fromHost(type: string, aliases: readonly string[], body: JsonSchema, about: JsonSchema): JsonSchema {
  return message("host-envelope", type, aliases, body, about);
}

function message(
  envelope: string,
  type: string,
  aliases: readonly string[],
  body: JsonSchema,
  about: JsonSchema,
): JsonSchema {
  return {
    title: type,
    ...about,
    ...(aliases.length === 0 ? {} : { "x-aliases": aliases }),
    allOf: [{ $ref: referenceTo(envelope) }],
    ...body,
    properties: { type: aliases.length === 0 ? { const: type } : { enum: [type, ...aliases] }, ...body.properties },
  };
}

function withField(body: JsonSchema, name: string, field: JsonSchema): JsonSchema {
  return { ...body, properties: { [name]: field, ...body.properties }, required: [name, ...(body.required ?? [])] };
}
