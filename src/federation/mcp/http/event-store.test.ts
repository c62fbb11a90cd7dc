import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { mcpLimits } from "../limits.ts";
import { createEventStore } from "./event-store.ts";

const message = (id: number, text = ""): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: { text } });

async function replay(store: ReturnType<typeof createEventStore>, after: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  await store.replayEventsAfter(after, { send: async (_id, event) => void seen.push((event as { id: number }).id) });
  return seen;
}

test("later events of the same stream are replayed in order, and no events of another stream", async () => {
  const store = createEventStore();
  const first = await store.storeEvent("one", {} as JSONRPCMessage);
  await store.storeEvent("one", message(1));
  await store.storeEvent("two", message(2));
  await store.storeEvent("one", message(3));

  expect(await replay(store, first)).toEqual([1, 3]);
  expect(await store.getStreamIdForEventId?.(first)).toBe("one");
});

test("an unknown event id has no stream", async () => {
  const store = createEventStore();
  await store.storeEvent("one", message(1));
  for (const id of ["", "one/99", "two/1", "../x"]) expect(await store.getStreamIdForEventId?.(id)).toBeUndefined();
});

test("a session keeps no more events and bytes than the limits allow", async () => {
  const store = createEventStore();
  const first = await store.storeEvent("one", message(0));
  for (let count = 1; count <= mcpLimits.maxReplayedEvents; count++) await store.storeEvent("one", message(count));
  expect(await store.getStreamIdForEventId?.(first)).toBeUndefined();

  const large = await store.storeEvent("one", message(1, "x".repeat(mcpLimits.maxReplayedBytes / 2)));
  await store.storeEvent("one", message(2, "x".repeat(mcpLimits.maxReplayedBytes / 2)));
  expect(await store.getStreamIdForEventId?.(large)).toBeUndefined();
});

test("a message that is too large to be kept ends the replay of its own stream only", async () => {
  const store = createEventStore();
  const [one, two] = [
    await store.storeEvent("one", {} as JSONRPCMessage),
    await store.storeEvent("two", {} as JSONRPCMessage),
  ];

  const large = await store.storeEvent("one", message(1, "x".repeat(mcpLimits.maxReplayedBytes)));
  await store.storeEvent("two", message(2));

  for (const id of [one, large]) expect(await store.getStreamIdForEventId?.(id)).toBeUndefined();
  expect(await store.getStreamIdForEventId?.(two)).toBe("two");
  expect(await replay(store, two)).toEqual([2]);
});
