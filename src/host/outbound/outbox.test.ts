import { expect, test, vi } from "vitest";
import { silentLogger } from "../../plugin/logger.ts";
import type { Message } from "../../protocol/envelope.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import { Outbox } from "./outbox.ts";

function createOutbox() {
  const onDeliveryFailed = vi.fn();
  const log = { ...silentLogger, error: onDeliveryFailed };
  let now = 0;
  const clock = { now: () => now };
  const tick = (to: number) => {
    now = to;
  };
  const scope = { info: { handle: "session" }, tap: undefined, lastActiveAt: 0 };
  const outbox = new Outbox({ limits: { ...defaultLimits }, log, clock, nextId: () => "gap" }, scope);
  return { outbox, scope, tick, onDeliveryFailed };
}

const message = (id: string): Message => ({ type: "pong", id });

test("messages that are sent before a reader attaches are kept for the first reader", () => {
  const { outbox } = createOutbox();
  outbox.send(message("1"));
  outbox.send(message("2"));
  expect(outbox.lastSeq).toBe(2);
  expect(outbox.attach(0, () => {}).read(1e6)).toHaveLength(2);
});

test("a transport in this process gets the message object itself, and it is not encoded", () => {
  const { outbox } = createOutbox();
  const taken: Message[] = [];
  outbox.bind({ deliver: (one) => void taken.push(one), closed() {} });
  const said = message("1");
  expect(outbox.send(said)).toBe(said);
  expect(taken[0]).toBe(said);
  expect(outbox.lastSeq).toBe(0);
});

test("a transport in this process and a reader of lines both get every message", () => {
  const { outbox } = createOutbox();
  const taken: Message[] = [];
  const reader = outbox.attach(0, () => {});
  outbox.bind({ deliver: (one) => void taken.push(one), closed() {} });
  expect(outbox.readerCount).toBe(2);
  const line = outbox.send(message("1"));
  expect(line).toBe('{"type":"pong","id":"1"}');
  outbox.resend(line, () => "2");
  expect(taken).toEqual([message("1"), message("1")]);
  expect(reader.read(1e6)).toMatchObject([{ line }, { line }]);
});

test("an answer that was sent to a transport can be sent again to a reader that attached later", () => {
  const { outbox } = createOutbox();
  const unbind = outbox.bind({ deliver() {}, closed() {} });
  const answer = outbox.send(message("1"));
  unbind();
  outbox.resend(answer, () => "2");
  expect(outbox.attach(0, () => {}).read(1e6)).toMatchObject([{ line: '{"type":"pong","id":"1"}' }]);
});

test("a message without a JSON form throws and takes no number", () => {
  const { outbox } = createOutbox();
  const reader = outbox.attach(0, () => {});
  expect(() => outbox.send({ ...message("1"), big: 1n as never })).toThrow(TypeError);
  outbox.send(message("2"));
  expect(reader.read(1e6)).toMatchObject([{ seq: 1, line: '{"type":"pong","id":"2"}' }]);
});

test("detaching a transport or a reader counts as activity of the agent, once each", () => {
  const { outbox, scope, tick } = createOutbox();
  const unbind = outbox.bind({ deliver() {}, closed() {} });
  const reader = outbox.attach(0, () => {});
  tick(10);
  unbind();
  expect(scope.lastActiveAt).toBe(10);
  tick(20);
  unbind();
  expect(scope.lastActiveAt).toBe(10);
  reader.close();
  expect(scope.lastActiveAt).toBe(20);
  tick(30);
  reader.close();
  expect(scope.lastActiveAt).toBe(20);
  expect(outbox.readerCount).toBe(0);
});

test("a transport that was replaced cannot unbind its successor", () => {
  const { outbox } = createOutbox();
  const taken: Message[] = [];
  const unbindFirst = outbox.bind({ deliver() {}, closed() {} });
  outbox.bind({ deliver: (one) => void taken.push(one), closed() {} });
  unbindFirst();
  outbox.send(message("1"));
  expect(taken).toHaveLength(1);
});

test("a transport that is replaced is closed", () => {
  const { outbox } = createOutbox();
  const closed = vi.fn();
  outbox.bind({ deliver() {}, closed });
  outbox.bind({ deliver() {}, closed() {} });
  expect(closed).toHaveBeenCalledOnce();
});

test("if a transport throws, the error is logged and readers of lines still get the line", () => {
  const { outbox, onDeliveryFailed } = createOutbox();
  const reader = outbox.attach(0, () => {});
  outbox.bind({
    deliver() {
      throw new Error("broken");
    },
    closed() {},
  });
  outbox.send(message("1"));
  expect(onDeliveryFailed).toHaveBeenCalledOnce();
  expect(reader.read(1e6)).toHaveLength(1);
});

test("closing the outbox closes its transport once", () => {
  const { outbox } = createOutbox();
  const closed = vi.fn();
  outbox.bind({ deliver() {}, closed });
  outbox.close();
  outbox.close();
  expect(closed).toHaveBeenCalledOnce();
});

test("an acknowledgement that is not a number is ignored", () => {
  const { outbox } = createOutbox();
  outbox.acknowledge(1);
  outbox.send(message("1"));
  for (const nonsense of [Number.NaN, 0.5, Number.POSITIVE_INFINITY, "1" as never]) outbox.acknowledge(nonsense);
  expect(outbox.attach(0, () => {}).read(1e6)).toMatchObject([{ seq: 1, line: '{"type":"pong","id":"1"}' }]);
});
