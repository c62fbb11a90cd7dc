// The reading end of a pipe as text. A stream of Node allocates memory for every read and passes it through several
// layers; reading into a single buffer makes a call measurably cheaper (bench `stdio`).
import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";
import { StringDecoder } from "node:string_decoder";

const bufferBytes = 64 * 1024;

/**
 * Emits text as `data`, from the next turn on. Throws if the descriptor is not a pipe or socket; from then on the
 * stream owns it.
 */
export function openTextPipe(fd: number): Socket {
  const decoder = new StringDecoder("utf8");
  let wasCut = false;
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd,
    readable: true,
    writable: false,
    onread: {
      buffer: Buffer.allocUnsafe(bufferBytes),
      callback(length, bytes) {
        const buffer = bytes as Buffer;
        // Text can only end within a character if its last byte belongs to a multi-byte character.
        const isCut = (buffer[length - 1] as number) >= 0x80;
        const text = wasCut || isCut ? decoder.write(buffer.subarray(0, length)) : buffer.toString("utf8", 0, length);
        wasCut = isCut;
        pipe.emit("data", text);
        return true;
      },
    },
  };
  const pipe = new Socket(options);
  // Registered before other listeners: an incomplete character at the end is emitted as a replacement character.
  pipe.once("end", () => {
    const rest = decoder.end();
    if (rest !== "") pipe.emit("data", rest);
  });
  return pipe;
}
