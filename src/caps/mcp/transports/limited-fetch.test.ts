import { expect, test } from "vitest";
import { limitBodies } from "./limited-fetch.ts";

/** A fetch whose response consists of these chunks. */
function answering(contentType: string, pieces: readonly string[]): typeof fetch {
  const body = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
  return async () => new Response(body(), { headers: { "content-type": contentType } });
}

const read = async (contentType: string, pieces: readonly string[]) =>
  (await limitBodies(100, answering(contentType, pieces))("http://server.test")).text();

test("a response as long as a message may be is read, and a longer response is an error", async () => {
  expect(await read("application/json", ["x".repeat(60), "y".repeat(40)])).toHaveLength(100);
  await expect(read("application/json", ["x".repeat(60), "y".repeat(41)])).rejects.toThrow("longer than 100 bytes");
});

test.each([
  ["\n\n", ["data: 0123456789\n\n"]],
  ["\r\n\r\n", ["data: 0123456789\r\n\r\n"]],
  ["\r\r", ["data: 0123456789\r\r"]],
  ["a blank line in a piece of its own", ["data: 0123456789\n", "\n"]],
  ["a blank line cut in two", ["data: 0123456789\r\n\r", "\n"]],
])("an event stream is not limited if each of its events is: %j", async (_, event) => {
  const pieces = Array.from({ length: 50 }, () => event).flat();

  expect(await read("text/event-stream", pieces)).toBe(pieces.join(""));
});

test.each([
  ["in one line", Array(30).fill("data")],
  ["in many lines", Array(30).fill("data: x\n")],
  ["in many lines as Windows ends them", Array(30).fill("data: x\r\n")],
])("an event beyond the limit is an error: %s", async (_, pieces) => {
  await expect(read("text/event-stream", pieces)).rejects.toThrow("longer than 100 bytes");
});
