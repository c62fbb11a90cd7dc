import { expect, test, vi } from "vitest";
import { startRawHost } from "../host/session/raw-session.suite.ts";
import { createOutboundPump } from "./outbound-pump.ts";

/** A sink that takes so many writes before it blocks. */
function createSink(capacity: number) {
  const seqs: number[] = [];
  const sink = {
    capacity,
    write(lines: readonly { seq: number }[]) {
      seqs.push(...lines.map(({ seq }) => seq));
      sink.capacity -= 1;
      return sink.capacity > 0;
    },
    ended: vi.fn(),
  };
  return { sink, seqs };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a sink that wants no more gets no more until it resumes, and then loses nothing", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  for (const id of ["1", "2", "3"]) await peer.ask(id);
  const { sink, seqs } = createSink(1);
  const pump = createOutboundPump(peer.session, 0, 1, sink);
  await turn();
  expect(seqs).toEqual([1]);
  await peer.ask("4");
  expect(seqs).toEqual([1]);
  sink.capacity = 100;
  pump.resume();
  expect(seqs).toEqual([1, 2, 3, 4, 5]);
  pump.close();
});

test("a blocked sink is ended only after it has taken the last line", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  const { sink, seqs } = createSink(1);
  const pump = createOutboundPump(peer.session, 0, 1e6, sink);
  await turn();
  await peer.session.close();
  expect(sink.ended).not.toHaveBeenCalled();
  sink.capacity = 100;
  pump.resume();
  expect(seqs).toEqual([1, 2]);
  expect(sink.ended).toHaveBeenCalledOnce();
});

test("a closed pump writes and ends nothing", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  const { sink, seqs } = createSink(100);
  const pump = createOutboundPump(peer.session, 1, 1e6, sink);
  expect(pump.start).toBe(1);
  pump.close();
  pump.close();
  await peer.ask("1");
  await peer.session.close();
  pump.resume();
  expect(seqs).toEqual([]);
  expect(sink.ended).not.toHaveBeenCalled();
});

test("a sink that closes its pump while it writes is not written to again", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  await peer.ask("1");
  let writes = 0;
  const pump = createOutboundPump(peer.session, 0, 1, {
    write() {
      writes += 1;
      pump.close();
      return true;
    },
    ended() {},
  });
  await turn();
  expect(writes).toBe(1);
  expect(peer.session.readerCount).toBe(1);
});

test("a pump on a closed session does not start", async () => {
  await using raw = await startRawHost();
  const session = raw.host.sessions.create();
  await session.close();
  expect(() => createOutboundPump(session, 0, 1, createSink(1).sink)).toThrow("closed");
});
