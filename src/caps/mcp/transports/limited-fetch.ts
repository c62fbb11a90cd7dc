// fetch with a limit: a body longer than a message may be ends with an error. An event stream lasts as long as the
// connection; there the limit applies to each event.

export function limitBodies(maxBytes: number, inner: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const count = isStream ? createEventCounter() : createByteCounter();
    const counted = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          if (count(chunk) > maxBytes) controller.error(new Error(`the answer is longer than ${maxBytes} bytes`));
          else controller.enqueue(chunk);
        },
      }),
    );
    return new Response(counted, response);
  };
}

/** Returns the size so far, including `chunk`. */
type Counter = (chunk: Uint8Array) => number;

function createByteCounter(): Counter {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    return bytes;
  };
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Counts from the last blank line, for any line ending and any division into chunks. */
function createEventCounter(): Counter {
  let bytes = 0;
  let isBlank = true;
  let last = 0;
  return (chunk) => {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      bytes += 1;
      const isSecondHalf = byte === lineFeed && last === carriageReturn;
      last = byte;
      if (isSecondHalf) continue;
      const isEnd = byte === lineFeed || byte === carriageReturn;
      if (isEnd && isBlank) bytes = 0;
      isBlank = isEnd;
    }
    return bytes;
  };
}
