import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { RawPeer, startRawHost } from "../../host/session/raw-session.suite.ts";
import type { Session } from "../../host/session.ts";
import { plugin } from "../../plugin/plugin.ts";
import { ask, call, capability } from "../../protocol/table/capability.ts";
import { type JournalPlace, journalPlaces } from "./journal-places.suite.ts";

const empty = z.object({});
const value = z.object({ value: z.number() });
const example = { request: {}, result: { value: 1 } };
const question = ask("ledger/question/req", "ledger/question/resp", {
  doc: "Asks.",
  request: empty,
  result: empty,
  example: { request: {}, result: {} },
});
const ledger = capability("ledger", {
  doc: "Counts, and waits.",
  calls: {
    add: call("ledger/add/req", "ledger/add/resp", {
      about: { access: "write" },
      doc: "Adds one.",
      request: empty,
      result: value,
      example,
    }),
    wait: call("ledger/wait/req", "ledger/wait/resp", {
      about: { access: "write" },
      doc: "Never ends.",
      request: empty,
      result: value,
      example,
    }),
  },
  asks: { question },
});

/** A host with one durable session whose agent has counted to 1, has a call in flight and is being asked something. */
async function startLedger(createPlace: () => Promise<JournalPlace>) {
  const place = await createPlace();
  const ended: unknown[] = [];
  const closed: string[] = [];
  const ledgerPlugin = plugin(ledger, {
    session: ({ state, ask, session }) => ({
      handlers: {
        add() {
          const next = Number(state.get("count") ?? 0) + 1;
          state.set("count", next);
          return { value: next };
        },
        wait(_request, { signal }) {
          signal.addEventListener("abort", () => ended.push(signal.reason));
          ask(question, {}).catch((error: unknown) => ended.push(error));
          return new Promise<never>(() => {});
        },
      },
      close: () => void closed.push(session.id),
    }),
  });
  const ids = {
    onCreated: (_id: string) => {},
    create() {
      const id = randomUUID();
      ids.onCreated(id);
      return id;
    },
  };
  const raw = await startRawHost([ledgerPlugin], { ...(await place.open()), createSessionId: () => ids.create() });
  const peer = await raw.open({ agent_caps: ["ledger"] });
  expect(await peer.ask("one", "", "ledger/add/req")).toMatchObject({ value: 1 });
  peer.request("waits", "", "ledger/wait/req");
  await peer.until(() => peer.received.some(({ type }) => type === question.type));
  const { session } = peer;
  const drop = async () => {
    const gone = new Promise<void>((resolve) => session.onClosed(resolve));
    place.failNext();
    peer.request("lost", "", "ledger/add/req");
    await gone;
  };
  return { ids, raw, peer, session, ended, closed, drop, place };
}

describe.each(journalPlaces)("%s", (_name, createPlace) => {
  test("a session that could not be written is dropped: nothing it said is heard, its calls end, its plugins are closed", async () => {
    const { raw, peer, session, ended, closed, drop } = await startLedger(createPlace);
    await using _ = raw;
    await drop();

    expect(session.status).toBe("closed");
    expect(raw.host.sessions.list()).toEqual([]);
    expect(peer.answers("lost")).toEqual([]);
    // The audit log must not have a success that the agent was never told of.
    const lost = raw.audit.filter(({ req_id }) => req_id === "lost");
    expect(lost).toMatchObject([{ success: false, error_code: "runtime_error" }]);
    expect(session.pendingCalls).toBe(0);
    const cancelled = expect.objectContaining({ code: "cancelled", message: "the host could not save this session" });
    expect(ended).toEqual([cancelled, cancelled]);
    expect(raw.audit).toContainEqual(expect.objectContaining({ req_id: "waits", error_code: "cancelled" }));
    expect(closed).toEqual([session.id]);
    // Many sessions are dropped for one reason, and it is the same for all: each says it in a line.
    expect(raw.log.entries).toMatchObject([
      { level: "error", fields: { reason: expect.stringMatching(/disk full|reset/) } },
    ]);
    expect(JSON.stringify(raw.log.entries)).not.toContain(".ts:");
  });

  test("closing a session that was dropped takes nothing from the journal, and closes its plugins no second time", async () => {
    const { raw, session, closed, drop } = await startLedger(createPlace);
    await using _ = raw;
    await drop();
    await session.close("deleted by somebody who still held it");
    await session.close();
    expect(closed).toEqual([session.id]);

    const again = new RawPeer((await raw.host.sessions.find(session.id)) as Session);
    expect(again.session).not.toBe(session);
    // It goes on from what its agent has seen.
    expect(await again.ask("two", "", "ledger/add/req")).toMatchObject({ value: 2 });
  });

  test("a session that was dropped while it was being closed keeps what the journal has, too", async () => {
    const { raw, session, closed, drop } = await startLedger(createPlace);
    await using _ = raw;
    const closing = session.close("deleted");
    await drop();
    await closing;
    expect(closed).toEqual([session.id]);
    expect(await raw.host.sessions.find(session.id)).toBeDefined();
  });

  test("a fork whose turn is lost is not answered and is gone, and its parent is recovered as it was", async () => {
    const { raw, peer, session, place, ids } = await startLedger(createPlace);
    await using _ = raw;
    const gone = new Promise<void>((resolve) => session.onClosed(resolve));
    const forks: string[] = [];
    // The id is created in the turn in which the fork is written.
    ids.onCreated = (id) => {
      forks.push(id);
      place.failNext();
    };
    peer.request("lost", "", "session/fork/req");
    await gone;

    expect(peer.answers("lost")).toEqual([]);
    expect(raw.host.sessions.list()).toEqual([]);
    expect(forks).toHaveLength(1);
    expect(await raw.host.sessions.find(forks[0] as string)).toBeUndefined();
    const again = new RawPeer((await raw.host.sessions.find(session.id)) as Session);
    expect(await again.ask("two", "", "ledger/add/req")).toMatchObject({ value: 2 });
  });
});
