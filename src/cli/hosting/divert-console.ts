// Tools and plugins are third-party code: their output must not get between the lines of the protocol.
import { Console } from "node:console";
import { Writable } from "node:stream";
import type { Logger } from "../../plugin/logger.ts";

/** Sends everything that is written with `console` to the log. Returns a function that undoes it. */
export function divertConsole(log: Logger): () => void {
  const original = globalThis.console;
  globalThis.console = new Console({ stdout: logStream(log, "stdout"), stderr: logStream(log, "stderr") });
  return () => {
    globalThis.console = original;
  };
}

function logStream(log: Logger, stream: string): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      log.info("printed by a plugin", { stream, text: String(chunk).trimEnd() });
      done();
    },
  });
}
