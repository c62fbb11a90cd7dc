// The behaviour that every transport must have.
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { A2EClient } from "../client/client.ts";
import { createMessage } from "../protocol/codec.ts";
import { handshake } from "../protocol/core.ts";
import type { Message } from "../protocol/envelope.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Transport } from "../protocol/transport.ts";
import { echo } from "./echo-host.suite.ts";

/** A host with the echo capability that exits on request, and transports to it. */
export interface TransportFixture {
  createTransport(): Transport;
  /** How often the host counted a key, if the test can look into the host. */
  counted?(key: string): number | undefined;
  stop(): Promise<void>;
}

export function testTransport(name: string, startFixture: () => Promise<TransportFixture>): void {
  describe(`${name} transport`, () => {
    let fixture: TransportFixture;
    let before: string[];
    const opened: { close(): Promise<void> }[] = [];

    beforeAll(async () => {
      before = openHandles();
      fixture = await startFixture();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((item) => item.close()));
    });

    const connect = async () => {
      const client = await A2EClient.connect({ transport: fixture.createTransport(), capabilities: ["echo"] });
      opened.push({ close: () => client.disconnect() });
      return client;
    };
    const open = async () => {
      const peer = createPeer(fixture.createTransport());
      opened.push(peer);
      await peer.open();
      return peer;
    };

    test("keeps the order of 1,000 messages both ways", async () => {
      const peer = await open();
      await peer.shakeHands();
      for (let number = 0; number < 1_000; number++) peer.say(`n${number}`, { number });
      await peer.until(() => peer.answers.length === 1_000);
      expect(peer.answers.map((answer) => answer.req_id)).toEqual(
        Array.from({ length: 1_000 }, (_, number) => `n${number}`),
      );
    });

    test("loses no message of 150 simultaneous senders", async () => {
      const api = (await connect()).use(echo);
      const said = await Promise.all(Array.from({ length: 150 }, (_, number) => api.say({ value: { number } })));
      expect(said.map(({ value }) => value.number)).toEqual(Array.from({ length: 150 }, (_, number) => number));
    });

    test("carries a message of 100,000 characters", async () => {
      const text = "0123456789".repeat(10_000);
      expect(await (await connect()).use(echo).say({ value: { text } })).toEqual({ value: { text } });
    });

    test.each([
      ["line separators", "a\u2028b\u2029c\u0085d\r\ne\u000bf"],
      ["characters beyond the basic plane", "🦜 𝒳 é 漢字 ‮rtl"],
      ["a lone surrogate", "\ud83e and \udd9c"],
      ["control characters", "\u0000\u0001\u007f\ufeff"],
      ["text that looks like framing", 'data: {"type":"ping"}\n\nid: 7\nline: {}'],
      ["nothing", ""],
    ])("carries %s unchanged", async (_what, text) => {
      const value = { text, [text]: [text, { "": text }] };
      expect(await (await connect()).use(echo).say({ value })).toEqual({ value });
    });

    test("is not affected by changes to a message after it was sent", async () => {
      const api = (await connect()).use(echo);
      const value: JsonObject = { list: [1] };
      const answer = api.keep({ value });
      (value.list as number[]).push(2);
      expect(await answer).toEqual({ value: { list: [1] } });
    });

    test("does not let changes to a received message reach the host", async () => {
      const api = (await connect()).use(echo);
      const first = await api.keep({ value: { list: [1] } });
      (first.value.list as number[]).push(2);
      expect(await api.keep({ value: {} })).toEqual({ value: { list: [1] } });
    });

    test("events come before the answer, in order", async () => {
      const api = (await connect()).use(echo);
      const numbers: unknown[] = [];
      const { times } = await api.count(
        { key: crypto.randomUUID(), events: 50 },
        { onEvent: ({ data }) => void numbers.push(data.number) },
      );
      expect({ times, numbers }).toEqual({ times: 1, numbers: Array.from({ length: 50 }, (_, index) => index + 1) });
    });

    test("carries messages that are not answers", async () => {
      const client = await connect();
      const numbers: unknown[] = [];
      client.onPush(echo.pushes.floodLine, ({ number }) => void numbers.push(number));
      await client.use(echo).flood({ lines: 3, bytes: 10 });
      expect(numbers).toEqual([1, 2, 3]);
    });

    test("does not take messages before it is open", () => {
      expect(() => fixture.createTransport().send(handshakeMessage())).toThrow("not open");
    });

    test("does not take messages after it was closed", async () => {
      const peer = await open();
      await peer.close();
      expect(() => peer.transport.send(handshakeMessage())).toThrow("not open");
    });

    test("cannot be opened twice", async () => {
      const peer = await open();
      await expect(peer.open()).rejects.toThrow("opened already");
    });

    test("can be closed before it was opened, and not be opened afterwards", async () => {
      const peer = createPeer(fixture.createTransport());
      await peer.close();
      await peer.close();
      await expect(peer.open()).rejects.toThrow();
    });

    test("does not open and delivers no message if it is closed while it opens", async () => {
      const peer = createPeer(fixture.createTransport());
      const opening = peer.open().then(
        () => "open",
        () => "refused",
      );
      await peer.close();
      // A transport that needs no time to open was open by then.
      if ((await opening) === "refused") expect(peer.closedReasons).toEqual([]);
      expect(() => peer.transport.send(handshakeMessage())).toThrow("not open");
    });

    test("closing twice is closing once, and names no reason", async () => {
      const peer = await open();
      await Promise.all([peer.close(), peer.close()]);
      await peer.close();
      expect(peer.closedReasons.length).toBeLessThanOrEqual(1);
      expect(peer.closedReasons[0]).toBeUndefined();
    });

    test("two that close it while lines are on their way both see the end", async () => {
      const peer = await open();
      await peer.shakeHands();
      peer.say("last", {});
      await Promise.all([peer.close(), peer.close()]);
      expect(peer.closedReasons[0]).toBeUndefined();
    });

    test("sends all accepted messages before it closes", async () => {
      const key = crypto.randomUUID();
      const peer = await open();
      await peer.shakeHands();
      peer.transport.send(createMessage("echo/count/req", key, 0, { key }));
      await peer.close();
      if (fixture.counted !== undefined) expect(fixture.counted(key)).toBe(1);
      expect(peer.closedReasons[0]).toBeUndefined();
    });

    test("a host that dies ends the link once, with a reason", async () => {
      const doomed = await startFixture();
      const peer = createPeer(doomed.createTransport());
      await peer.open();
      await peer.shakeHands();
      peer.transport.send(createMessage("echo/die/req", "die", 0, {}));
      await peer.until(() => peer.closedReasons.length > 0);
      await doomed.stop();
      await peer.close();
      expect(peer.closedReasons).toEqual([expect.any(Error)]);
      expect(() => peer.transport.send(handshakeMessage())).toThrow("not open");
    });

    test("leaves no socket, pipe or process behind", async () => {
      await fixture.stop();
      await expect.poll(openHandles).toEqual(before);
    });
  });
}

function handshakeMessage(): Message {
  return createMessage(handshake.type, crypto.randomUUID(), Date.now(), { agent_id: "tester", agent_caps: ["echo"] });
}

/** A transport with everything that it reported. */
function createPeer(transport: Transport) {
  const received: Message[] = [];
  const closedReasons: (Error | undefined)[] = [];
  let changed = () => {};
  const peer = {
    transport,
    closedReasons,
    get answers() {
      return received.filter((message) => message.type === "echo/say/resp");
    },
    open: () =>
      transport.open({
        receive: (message) => {
          received.push(structuredClone(message));
          changed();
        },
        restored: () => {},
        closed: (reason) => {
          closedReasons.push(reason);
          changed();
        },
      }),
    say: (id: string, value: JsonObject) => transport.send(createMessage("echo/say/req", id, Date.now(), { value })),
    async until(isTrue: () => boolean) {
      while (!isTrue()) {
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
    async shakeHands() {
      transport.send(handshakeMessage());
      await peer.until(() =>
        received.some((message) => message.type === handshake.responseType && message.ok === true),
      );
    },
    close: () => transport.close(),
  };
  return peer;
}

/** Sockets, pipes and processes of this process; timers are left out, because the test runner has some too. */
function openHandles(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((kind) => /TCP|Pipe|Process|TLS/.test(kind))
    .sort();
}
