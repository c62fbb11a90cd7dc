// Events that a client may have missed while its stream was down. One store per session, so a replay never shows events
// of another session.
import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";
import { mcpLimits } from "../limits.ts";

interface StoredEvent {
  readonly streamId: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

export function createEventStore(): EventStore {
  /** In the order in which they were sent. */
  const events = new Map<string, StoredEvent>();
  let bytes = 0;
  let lastNumber = 0;
  const forget = (id: string, event: StoredEvent) => {
    events.delete(id);
    bytes -= event.bytes;
  };
  const forgetOldest = () => {
    for (const [id, event] of events) {
      if (events.size <= mcpLimits.maxReplayedEvents && bytes <= mcpLimits.maxReplayedBytes) return;
      forget(id, event);
    }
  };
  const forgetStream = (streamId: string) => {
    for (const [id, event] of events) if (event.streamId === streamId) forget(id, event);
  };
  return {
    async storeEvent(streamId, message) {
      const id = `${streamId}/${++lastNumber}`;
      const size = JSON.stringify(message).length;
      // A message that is too large leaves a gap in its own stream only, not in all others.
      if (size > mcpLimits.maxReplayedBytes) {
        forgetStream(streamId);
        return id;
      }
      events.set(id, { streamId, message, bytes: size });
      bytes += size;
      forgetOldest();
      return id;
    },
    /** Undefined for unknown and evicted events: the client must learn that there is a gap. */
    getStreamIdForEventId: async (id) => events.get(id)?.streamId,
    async replayEventsAfter(lastEventId, { send }) {
      const streamId = streamIdOf(lastEventId);
      const last = numberOf(lastEventId);
      for (const [id, event] of [...events]) {
        // The first event of a stream only carries its id, with an empty message.
        const isNews = event.streamId === streamId && numberOf(id) > last && Object.keys(event.message).length > 0;
        if (isNews) await send(id, event.message);
      }
      return streamId;
    },
  };
}

function streamIdOf(eventId: string): string {
  return eventId.slice(0, Math.max(eventId.lastIndexOf("/"), 0));
}

function numberOf(eventId: string): number {
  return Number(eventId.slice(eventId.lastIndexOf("/") + 1));
}
