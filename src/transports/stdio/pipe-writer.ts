// Writes text to a pipe past the layers of its stream, which cost as much as the write itself (bench `stdio`). The
// stream handles any text that the pipe does not accept at once: it waits for a slow reader and reports a closed one.
import { constants, fstatSync, readFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** Returns whether more may follow at once, as `write` of a stream does. */
export type WriteText = (text: string) => boolean;

/** A pipe takes no more at once, and encoding takes three bytes of memory for each character. */
const maxDirectLength = 64 * 1024;

/**
 * `fd` is the descriptor that the stream writes to. If writing to it could block, everything goes through the stream.
 */
export function createPipeWriter(stream: Writable, fd: number | undefined): WriteText {
  if (fd === undefined || !isNonBlockingPipe(fd)) return (text) => stream.write(text);
  return (text) => {
    // Text buffered in the stream must be written first; and after the stream ended, the descriptor may belong to
    // another file.
    if (stream.writableLength > 0 || !stream.writable || text.length > maxDirectLength) return stream.write(text);
    const written = tryWrite(fd, text);
    if (written === Buffer.byteLength(text)) return true;
    return stream.write(written === 0 ? text : Buffer.from(text).subarray(written));
  };
}

/** The descriptor of standard output; undefined for other streams, including the replacement in a worker thread. */
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
 * Node opens pipes and sockets so that writing never blocks. The system is asked nevertheless, since a host that
 * blocks in a write serves no session; only Linux (/proc) reports it.
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
