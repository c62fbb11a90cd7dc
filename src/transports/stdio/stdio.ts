// The host's end of a pipe: one session, lines in, lines out. Output carries nothing but NDJSON.
import type { Readable, Writable } from "node:stream";
import { createOutboundPump, type OutboundSource } from "../../framing/outbound-pump.ts";
import { createTextLineSplitter } from "../../framing/text-lines.ts";
import type { Limits } from "../../protocol/limits.ts";
import { createPipeWriter, standardOutputFd } from "./pipe-writer.ts";

/** What serving needs of a session. */
export interface StdioSession extends OutboundSource<{ readonly line: string }> {
  readonly status: string;
  readonly intake: {
    /** So much waits that input should not be read before `onceRoom` calls back. */
    readonly isFull: boolean;
    receiveLine(line: string): void;
    receiveTooLong(): void;
    onceRoom(callback: () => void): void;
    onceEmpty(callback: () => void): void;
  };
  close(reason?: string, drainMs?: number): Promise<void>;
}

interface StdioOptions {
  input: Readable;
  output: Writable;
  limits: Pick<Limits, "maxLineBytes" | "maxReaderBytes" | "drainMs">;
  /** Aborted, the session ends at once, though its last lines were not taken. */
  signal?: AbortSignal;
}

/**
 * Serves a session over two streams. The end of input is the agent's goodbye: calls in flight may still finish. Resolves
 * when the session has ended and its last line was written; the streams stay the caller's.
 */
export function serveStdio(session: StdioSession, { input, output, limits, signal }: StdioOptions): Promise<void> {
  return new Promise((resolve) => {
    const { intake } = session;
    let isBroken = false;
    let isFinished = false;
    const splitter = createTextLineSplitter({
      maxLineLength: limits.maxLineBytes,
      onLine: (line) => intake.receiveLine(line),
      onTooLong: () => intake.receiveTooLong(),
    });
    const write = createPipeWriter(output, standardOutputFd(output));
    const pump = createOutboundPump(session, 0, limits.maxReaderBytes, {
      write(lines) {
        let text = "";
        for (const { line } of lines) text += `${line}\n`;
        return write(text);
      },
      ended: finish,
    });
    const receive = (text: string) => {
      splitter.push(text);
      if (!intake.isFull || input.isPaused()) return;
      input.pause();
      intake.onceRoom(() => {
        if (!isFinished) input.resume();
      });
    };
    const endOfInput = () => {
      splitter.end();
      intake.onceEmpty(() => {
        // An agent that has sent a shutdown has set the time for its calls with it.
        if (session.status !== "closing") void session.close("end of input", limits.drainMs);
      });
    };
    const brokenInput = () => void session.close("input failed");
    // Nobody reads any more: there is no point in finishing anything.
    const brokenOutput = () => {
      if (isBroken) return;
      isBroken = true;
      pump.close();
      void session.close("output failed").then(finish);
    };
    input.setEncoding("utf8").on("data", receive).on("end", endOfInput).on("error", brokenInput);
    output.on("drain", pump.resume).on("error", brokenOutput).on("close", brokenOutput);
    // Stays to the end: even the very last line may not be taken.
    signal?.addEventListener("abort", brokenOutput, { once: true });

    function finish(): void {
      isFinished = true;
      input.off("data", receive).off("end", endOfInput).off("error", brokenInput).pause();
      output.off("drain", pump.resume).off("close", brokenOutput);
      // Standard output cannot be destroyed: it stays "writable" after a failure and fails again with each write, so the
      // listener for its errors stays too.
      if (isBroken || !output.writable) return resolve();
      // The write behind the last one: its callback comes when all before it are through.
      output.write("", () => resolve());
    }
  });
}
