import { expect, test } from "vitest";
import { CollectedEvents } from "./collected-events.ts";

test("events are numbered and copied; events over the limit of number or size are counted in a last event", () => {
  const events = new CollectedEvents({ maxEvents: 2, maxBytes: 40 });
  const data = { text: "first" };

  events.add("note", data);
  data.text = "changed";
  events.add("note", { text: "x".repeat(100) });
  events.add("note", { text: "second" });
  events.add("note", {});

  expect(events.toList()).toEqual([
    { kind: "note", data: { text: "first" }, seq: 1 },
    { kind: "note", data: { text: "second" }, seq: 2 },
    { kind: "log", data: { dropped_events: 2 }, seq: 3 },
  ]);
});

test("no last event is added if all events had room", () => {
  const events = new CollectedEvents({ maxEvents: 2, maxBytes: 40 });

  events.add("note", { text: "only" });

  expect(events.toList()).toEqual([{ kind: "note", data: { text: "only" }, seq: 1 }]);
});
