// Lines that arrive while plugins open are held. Whether the line after the handshake is held depends on a few
// milliseconds, for example those of a commit: a recording must replay in both cases.
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import type { RawPeer } from "../host/session/raw-session.suite.ts";
import { plugin } from "../plugin/plugin.ts";
import { call, capability, push } from "../protocol/table/capability.ts";
import { identical, readFixture, record, replay } from "./replayed-session.suite.ts";

const text = z.object({ text: z.string() });
const told = push("slow/told", { doc: "", payload: text, example: { text: "" } });
const tell = call("slow/tell/req", "slow/tell/resp", {
  about: { access: "write" },
  doc: "",
  request: z.object({}),
  result: z.object({ started_at: z.number() }),
  example: { request: {}, result: { started_at: 0 } },
});
const slow = capability("slow", { doc: "Opens slowly.", calls: { tell }, pushes: { told } });

/** A plugin that opens asynchronously. A call makes something outside send a push. */
const slowPlugin = () =>
  plugin(slow, {
    async session({ outside, fromOutside, push }) {
      const receive = fromOutside((text: string) => push(told, { text }));
      await outside(() => nextTurn(null));
      return {
        handlers: {
          tell(_request, { startedAt }) {
            setImmediate(() => receive("a text"));
            return { started_at: startedAt };
          },
        },
      };
    },
  });

/** Every look at this clock has another result, so a value that is taken twice or in another order shows. */
const createClock = () => {
  let now = 1_000_000;
  return { now: () => ++now };
};

const request = (id: string, type: string = tell.type) => ({ type, id, version: "1.0" });

async function talkOn(peer: RawPeer): Promise<void> {
  await peer.answer("first");
  await peer.answer("unknown");
  await peer.until(() => peer.received.some(({ type }) => type === told.type));
}

function sendFirst(peer: RawPeer): void {
  peer.send(request("first"));
  peer.send(request("unknown", "nobody/knows"));
}

test.each([
  ["as soon as the handshake is answered", 0],
  ["turns after the handshake was answered", 3],
])("the first lines after a handshake are replayed if they arrive %s", async (_, turns) => {
  const recorded = await record(
    [slowPlugin()],
    async (peer) => {
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      sendFirst(peer);
      await talkOn(peer);
    },
    { clock: createClock() },
  );
  expect(await replay(recorded, [slowPlugin()])).toEqual(identical);
});

test.each([true, false])(
  "lines that arrive while plugins open are replayed (handshake required: %s)",
  async (isHandshakeRequired) => {
    const recorded = await record([slowPlugin()], talkOn, { clock: createClock(), isHandshakeRequired }, (peer) => {
      if (isHandshakeRequired) void peer.shakeHands({ agent_caps: [slow.name] });
      sendFirst(peer);
    });
    expect(await replay(recorded, [slowPlugin()])).toEqual(identical);
  },
);

test.each(["held-lines", "held-first-line"])(
  "a recording of an earlier version with held lines is replayed: %s",
  async (name) => {
    expect(await replay({ text: await readFixture(name) }, [slowPlugin()])).toEqual(identical);
  },
);
