import { expect, expectTypeOf, test } from "vitest";
import type { Session, Sessions } from "../session.ts";
import { startRawHost } from "./raw-session.suite.ts";

const members = [
  "acknowledge",
  "attach",
  "awaitsHandshake",
  "bearerToken",
  "bindTransport",
  "cancel",
  "close",
  "fork",
  "id",
  "info",
  "intake",
  "lastSeq",
  "onClosed",
  "pendingCalls",
  "readerCount",
  "receiveLine",
  "receiveMessage",
  "receiveTooLong",
  "restoreSnapshot",
  "saveSnapshot",
  "startSeq",
  "status",
  "stream",
  "summary",
  "unsentBytes",
] as const;

/** Own and inherited names, but not those of every object. */
function namesOf(object: object): string[] {
  const names = new Set(Object.keys(object));
  for (let proto = Object.getPrototypeOf(object); proto !== Object.prototype; proto = Object.getPrototypeOf(proto))
    for (const name of Object.getOwnPropertyNames(proto)) if (name !== "constructor") names.add(name);
  return [...names].sort();
}

test("a session that the host hands out has the members of Session and no others", async () => {
  await using raw = await startRawHost();
  const { session } = await raw.open();
  expect(namesOf(raw.host.sessions.get(session.id) as Session)).toEqual(members);
  expect(members.length).toBeLessThanOrEqual(25);
  expectTypeOf<keyof Session>().toEqualTypeOf<(typeof members)[number]>();
});

test("host.sessions has no method that removes a session without closing it, or adds one as a fork", async () => {
  await using raw = await startRawHost();
  const names = ["close", "create", "delete", "find", "get", "list", "listSnapshots", "open", "restore", "size"];
  expect(namesOf(raw.host.sessions)).toEqual(names);
  expectTypeOf<keyof Sessions>().toEqualTypeOf<
    "create" | "delete" | "find" | "get" | "list" | "listSnapshots" | "open" | "restore" | "size"
  >();
});
