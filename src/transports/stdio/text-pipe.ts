// The reading end of a pipe as text. A stream of Node takes new memory for whatever it reads and hands it through layers
// that nobody needs here; a pipe that is read into one buffer, again and again, makes a call measurably cheaper (bench
// `stdio`).
import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";
import { StringDecoder } from "node:string_decoder";

const bufferBytes = 64 * 1024;

/** Emits text as `data`, from the next turn on; throws where it is no pipe or socket. The descriptor is its own from then on. */
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
        // Only what ends with a byte of a longer character can end within one.
        const isCut = (buffer[length - 1] as number) >= 0x80;
        const text = wasCut || isCut ? decoder.write(buffer.subarray(0, length)) : buffer.toString("utf8", 0, length);
        wasCut = isCut;
        pipe.emit("data", text);
        return true;
      },
    },
  };
  const pipe = new Socket(options);
  // Heard before whoever else listens: what was cut off for good is told as such.
  pipe.once("end", () => {
    const rest = decoder.end();
    if (rest !== "") pipe.emit("data", rest);
  });
  return pipe;
}
