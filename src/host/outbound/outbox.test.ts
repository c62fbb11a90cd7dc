import { expect, test, vi } from "vitest";
import { createMessage } from "../../protocol/codec.ts";
import type { Message } from "../../protocol/envelope.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import { Outbox } from "./outbox.ts";

function createOutbox() {
  const onDetached = vi.fn();
  const onDeliveryFailed = vi.fn();
  const port = {
    createGap: (from: number, to: number) => createMessage("session/gap", "gap", 0, { from, to }),
    onDetached,
    onDeliveryFailed,
  };
  const outbox = new Outbox(port, { ...defaultLimits });
  return { outbox, onDetached, onDeliveryFailed };
}

const message = (id: string): Message => ({ type: "pong", id });

test("what is said before anybody listens is kept for the first reader", () => {
  const { outbox } = createOutbox();
  outbox.send(message("1"));
  outbox.send(message("2"));
  expect(outbox.lastSeq).toBe(2);
  expect(outbox.attach(0, () => {}).read(1e6)).toHaveLength(2);
});

test("a transport of this process gets the message itself, and no line is made of it", () => {
  const { outbox } = createOutbox();
  const taken: Message[] = [];
  outbox.bind({ deliver: (one) => void taken.push(one), closed() {} });
  const said = message("1");
  expect(outbox.send(said)).toBe(said);
  expect(taken[0]).toBe(said);
  expect(outbox.lastSeq).toBe(0);
});

test("a transport and a reader of lines both get everything", () => {
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

test("what a transport remembered is said again to whoever listens now", () => {
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

test("leaving is told, once, for transports and readers alike", () => {
  const { outbox, onDetached } = createOutbox();
  const unbind = outbox.bind({ deliver() {}, closed() {} });
  const reader = outbox.attach(0, () => {});
  unbind();
  unbind();
  reader.close();
  reader.close();
  expect(onDetached).toHaveBeenCalledTimes(2);
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

test("a transport that is replaced is told that it is over", () => {
  const { outbox } = createOutbox();
  const closed = vi.fn();
  outbox.bind({ deliver() {}, closed });
  outbox.bind({ deliver() {}, closed() {} });
  expect(closed).toHaveBeenCalledOnce();
});

test("a transport that throws is reported, and readers of lines get the line all the same", () => {
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

test("closing tells the transport once", () => {
  const { outbox } = createOutbox();
  const closed = vi.fn();
  outbox.bind({ deliver() {}, closed });
  outbox.close();
  outbox.close();
  expect(closed).toHaveBeenCalledOnce();
});

test("an acknowledgement that is no number is ignored", () => {
  const { outbox } = createOutbox();
  outbox.acknowledge(1);
  outbox.send(message("1"));
  for (const nonsense of [Number.NaN, 0.5, Number.POSITIVE_INFINITY, "1" as never]) outbox.acknowledge(nonsense);
  expect(outbox.attach(0, () => {}).read(1e6)).toMatchObject([{ seq: 1, line: '{"type":"pong","id":"1"}' }]);
});
