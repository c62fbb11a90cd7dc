// Sends the events of a call to the agent or, for a nested call, to its caller.
import { createMessage } from "../../protocol/codec.ts";
import { toEventData } from "../../protocol/core.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ActiveCall } from "./active-call.ts";

export function sendEvent(call: ActiveCall, kind: string, data: JsonObject): void {
  const { log, sources, limits, outbox } = call.owner.scope;
  const { maxEventsPerCall } = limits;
  const { type } = call;
  if (call.eventCount >= maxEventsPerCall) {
    if (call.eventCount === maxEventsPerCall)
      log.warn("further events of a call are dropped", { type, limit: "maxEventsPerCall" });
    call.eventCount = maxEventsPerCall + 1;
    return;
  }
  call.eventCount += 1;
  const seq = call.eventCount;
  const payload = toEventData(data);
  try {
    if (call.nested !== undefined) return call.nested.onEvent?.({ kind, data: payload, seq });
    const { event, eventFields } = call.entry.capability;
    const fields: JsonObject = { kind, req_id: call.id, data: payload, seq };
    for (const name of eventFields) if (payload[name] !== undefined) fields[name] = payload[name];
    outbox.sendAside(createMessage(event, sources.nextId(), sources.clock.now(), fields));
  } catch (error) {
    if (call.nested !== undefined) return log.error("event was not taken", { type, error });
    // The event was not sent, so the next event gets its number.
    call.eventCount -= 1;
    log.error("event has no JSON form", { type, error });
  }
}
