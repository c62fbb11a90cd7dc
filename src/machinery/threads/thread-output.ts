// Printed text must not reach the host's stdout, which may carry the protocol. It goes the way of messages: a host that read
// the thread's own streams would be kept alive by them.

export function redirectOutput(send: (text: string) => void): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.write = (text: string | Uint8Array, ...rest: unknown[]) => {
      send((typeof text === "string" ? text : Buffer.from(text).toString()).trimEnd());
      const written = rest.at(-1);
      if (typeof written === "function") queueMicrotask(() => written());
      return true;
    };
  }
}
