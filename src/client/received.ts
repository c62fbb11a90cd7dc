// Messages about a call besides its result: events, and errors in any of the shapes that hosts use.
import { encodeMessage } from "../protocol/codec.ts";
import { errorPayload, eventPayload } from "../protocol/core.ts";
import type { Message } from "../protocol/envelope.ts";
import { A2EError } from "../protocol/errors.ts";
import { isJsonObject } from "../protocol/json.ts";
import { parseWith } from "../protocol/table/parse.ts";
import { A2EClientError, type CallEvent } from "./errors.ts";
import type { PendingCall } from "./pending-call.ts";

/** The last events of a call are kept for the error that it may end with. All events go to `onEvent`. */
const maxKeptEvents = 1_000;

/** The event in a message, stored with its call; undefined if the message is not an event. */
export function takeEvent(pending: PendingCall, message: Message): CallEvent | undefined {
  // Hosts that follow the protocol's documentation send text for `data`, which the SDK defines as an object.
  const { data } = message;
  const payload = data === undefined || isJsonObject(data) ? message : { ...message, data: { value: data } };
  const event = parseWith(eventPayload, payload);
  if (event instanceof A2EError) return undefined;
  pending.events ??= [];
  pending.events.push(event);
  if (pending.events.length >= 2 * maxKeptEvents) pending.events.splice(0, maxKeptEvents);
  return event;
}

export function toClientError(message: Message, { message: { id }, events = [] }: PendingCall): A2EClientError {
  return new A2EClientError(readError(message), id, events.slice(-maxKeptEvents));
}

/** Some hosts put the text in another field, or null if they have no text: all readable fields are used. */
function readError(message: Message): ReturnType<typeof errorPayload.parse> {
  const payload = parseWith(errorPayload, message);
  if (!(payload instanceof A2EError)) return payload;
  const { code, detail, retryable } = message;
  const text = [message.message, message.error].find((value) => typeof value === "string");
  return errorPayload.parse({
    code: typeof code === "string" ? code : "invalid_message",
    message: text ?? "unreadable error",
    ...(isJsonObject(detail) ? { detail } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  });
}

/**
 * A line that was too long for the host was skipped unread, and an id that was is not repeated, so that the answer cannot
 * name the call. Returns those of the calls that it can only be about.
 */
export function findTooLong(message: Message, calls: readonly PendingCall[]): PendingCall[] {
  const { type, req_id, detail } = message;
  if (type !== "error" || req_id !== undefined || !isJsonObject(detail)) return [];
  const { limit, max_bytes, max_length } = detail;
  if (limit === "maxIdLength") return calls.filter((pending) => pending.message.id.length > Number(max_length));
  if (limit !== "maxLineBytes") return [];
  return calls.filter((pending) => new TextEncoder().encode(encodeMessage(pending.message)).length > Number(max_bytes));
}
