// Writes text to a pipe past the layers of its stream, which cost as much as the write itself (bench `stdio`). The stream
// stays in charge of whatever the pipe does not take at once: it waits for a slow reader, and tells of one that is gone.
import { constants, fstatSync, readFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** Returns whether more may follow at once, as `write` of a stream does. */
export type WriteText = (text: string) => boolean;

/** A pipe takes no more at once, and encoding takes three bytes of memory for each character. */
const maxDirectLength = 64 * 1024;

/** `fd` is what the stream writes to. Where writing to it could block, everything goes through the stream. */
export function createPipeWriter(stream: Writable, fd: number | undefined): WriteText {
  if (fd === undefined || !isNonBlockingPipe(fd)) return (text) => stream.write(text);
  return (text) => {
    // What the stream still has must leave before; and after its end, the descriptor may be that of another file.
    if (stream.writableLength > 0 || !stream.writable || text.length > maxDirectLength) return stream.write(text);
    const written = tryWrite(fd, text);
    if (written === Buffer.byteLength(text)) return true;
    return stream.write(written === 0 ? text : Buffer.from(text).subarray(written));
  };
}

/** The descriptor of standard output; undefined for other streams, and for what a worker thread has in its place. */
export function standardOutputFd(stream: Writable): number | undefined {
  return stream === process.stdout && stream instanceof Socket ? process.stdout.fd : undefined;
}

function tryWrite(fd: number, text: string): number {
  try {
    return writeSync(fd, text);
  } catch {
    // Full, or broken: the stream meets the same and deals with it.
    return 0;
  }
}

/**
 * Node opens pipes and sockets so that writing never blocks. That is asked of the system all the same, since a host that
 * hangs in a write serves nobody; only Linux tells.
 */
function isNonBlockingPipe(fd: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    const kind = fstatSync(fd);
    if (!kind.isFIFO() && !kind.isSocket()) return false;
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & constants.O_NONBLOCK) !== 0;
  } catch {
    return false;
  }
}
