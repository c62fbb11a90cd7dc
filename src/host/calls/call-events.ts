// Sends the events of a call to the agent or, for a nested call, to its caller.

import type { Logger } from "../../plugin/logger.ts";
import { createMessage } from "../../protocol/codec.ts";
import { toEventData } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Sources } from "../sources.ts";
import type { ActiveCall } from "./active-call.ts";

interface EventPort {
  readonly sources: Sources;
  readonly log: Logger;
  /** Throws if the message has no JSON form. */
  sendAside(message: Message): unknown;
}

export function sendEvent(call: ActiveCall, kind: string, data: JsonObject, maxEvents: number, port: EventPort): void {
  const { log, sources } = port;
  const { call: table, capability } = call.entry;
  if (call.eventCount >= maxEvents) {
    if (call.eventCount === maxEvents)
      log.warn("further events of a call are dropped", { type: table.type, limit: "maxEventsPerCall" });
    call.eventCount = maxEvents + 1;
    return;
  }
  call.eventCount += 1;
  const seq = call.eventCount;
  const payload = toEventData(data);
  try {
    if (call.parent !== undefined) return call.onEvent?.({ kind, data: payload, seq });
    const fields: JsonObject = { kind, req_id: call.id, data: payload, seq };
    for (const name of capability.eventFields) if (payload[name] !== undefined) fields[name] = payload[name];
    port.sendAside(createMessage(capability.event, sources.nextId(), sources.clock.now(), fields));
  } catch (cause) {
    if (call.parent !== undefined) return log.error("event was not taken", { type: table.type, error: cause });
    // The event was not sent, so the next event gets its number.
    call.eventCount -= 1;
    log.error("event has no JSON form", { type: table.type, error: cause });
  }
}
