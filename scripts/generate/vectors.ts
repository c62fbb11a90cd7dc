// Conformance vectors: every message of a table as sent, one per line. A request is followed by its answer, an alias by
// the answer in its own family; both sides of any implementation can be checked against them.

import { createMessage, encodeMessage } from "../../src/protocol/codec.ts";
import { core, errorPayload, eventPayload, shutdownPayload } from "../../src/protocol/core.ts";
import { addMirrors } from "../../src/protocol/dialects.ts";
import type { Message } from "../../src/protocol/envelope.ts";
import { A2EError, coreErrors } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import { type Call, type Capability, coreEventType } from "../../src/protocol/table/capability.ts";

/** A fixed time: vectors must not change from run to run. */
const sentAtMs = 1_789_000_000_000;

export function renderVectors(capability: Capability): string {
  return messagesOf(capability)
    .map((message) => `${encodeMessage(message)}\n`)
    .join("");
}

export function messagesOf(capability: Capability): Message[] {
  const messages: Message[] = [];
  const add = (type: string, id: string, fields: object) => messages.push(createMessage(type, id, sentAtMs, fields));

  for (const [name, ask] of Object.entries(capability.asks)) {
    const spellings = [[ask.type, ask.responseType], ...Object.entries(ask.aliases)] as [string, string][];
    for (const [index, [type, responseType]] of spellings.entries()) {
      const id = `${capability.name}.${name}${index === 0 ? "" : `.alias-${index}`}`;
      const correlation = ask.correlatedBy === undefined ? {} : { [ask.correlatedBy]: id };
      // The host asks, so it is the question that has its defaults filled.
      add(type, id, { ...ask.request.parse(ask.example.request), ...correlation });
      add(responseType, `${id}.answer`, { req_id: id, ...ask.example.result, ...correlation });
    }
  }
  for (const [name, call] of Object.entries(capability.calls)) {
    // A request under the name of its answer is accepted, but should not be written, so it gets no vector.
    const aliases = Object.entries(call.aliases).filter(([alias]) => alias !== call.responseType);
    const spellings = [[call.type, call.responseType], ...aliases] as [string, string][];
    for (const [index, [type, responseType]] of spellings.entries()) {
      const id = `${capability.name}.${name}${index === 0 ? "" : `.alias-${index}`}`;
      add(type, id, call.example.request);
      add(responseType, `${id}.answer`, { req_id: id, ...answerOf(call) });
    }
  }
  for (const [name, push] of Object.entries(capability.pushes)) {
    for (const type of [push.type, ...push.aliases])
      add(type, `${capability.name}.${name}`, push.payload.parse(push.example));
  }
  const isPushed = Object.values(capability.pushes).some(({ type }) => type === capability.event);
  if (capability === core || (capability.event !== coreEventType && !isPushed)) {
    const event = eventPayload.parse({ kind: "progress", data: { percent: 50 }, seq: 1 });
    add(capability.event, `${capability.name}.event`, { req_id: `${capability.name}.call`, ...event });
  }
  for (const [code, { retryable, doc }] of Object.entries(capability === core ? coreErrors : capability.errors)) {
    const capability_name = capability === core ? "" : capability.name;
    const fields = errorPayload.parse({ code, message: doc, retryable, capability_name });
    add("error", `${capability.name}.${code}`, { req_id: `${capability.name}.call`, ...fields });
  }
  if (capability === core) add("shutdown", "core.shutdown", shutdownPayload.parse({}));
  return messages;
}

/** The example as a host writes it: defaults filled, mirrors added. */
function answerOf(call: Call): JsonObject {
  const result = call.parseResult(call.example.result);
  if (result instanceof A2EError)
    throw new Error(`the example result of ${call.type} does not fit its schema: ${result.message}`);
  addMirrors(call, result);
  return result;
}
