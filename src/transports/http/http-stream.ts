// The host's lines over HTTP: a stream of server-sent events, reopened after each cut behind the last line that
// arrived.

import { bootHeader, createSseParser, keepAliveHeader, type SseEvent } from "../../framing/sse.ts";
import type { Message } from "../../protocol/envelope.ts";
import { parseJson } from "../../protocol/json.ts";
import { answerTimeoutMs, type HttpIo } from "./http-io.ts";
import { isTemporary } from "./http-posts.ts";

export interface HttpStream {
  /** Resolves when the first stream is open; rejects if it cannot be opened, without a retry. */
  open(): Promise<void>;
  close(): void;
}

interface StreamPort {
  readonly io: HttpIo;
  /** Sent with every request of the transport; the last line that arrived is acknowledged with it. */
  readonly headers: Record<string, string>;
  readonly maxLineLength: number;
  opened(): void;
  receive(message: Message): void;
  /** Requests that the host received and did not answer must be sent again. */
  restored(): void;
  /** The stream was cut: `again` is to be called later. */
  cut(reason: Error, again: () => void): void;
  /** A retry would not help: the host refused the stream, or another server answered. */
  refused(status: number): void;
  failed(reason: Error): void;
}

/**
 * A stream that was silent for three keep-alive intervals of the host is dead. Applies only to hosts that send
 * keep-alives.
 */
const missedKeepAlives = 3;
/**
 * The interval assumed for a host that does not announce it. Also the minimum: a shorter interval may be late for a
 * while.
 */
const minKeepAliveMs = 15_000;
/** No host means a longer silence, and timers overflow. */
const maxKeepAliveMs = 24 * 60 * 60_000;

export function createHttpStream(port: StreamPort): HttpStream {
  const { io, headers, maxLineLength } = port;
  let isClosed = false;
  let lastSeq = 0;
  /** The boot id of the host that the stream last came from, if it sent one. */
  let lastBoot: string | undefined;
  let lastHeardAt = 0;
  /** Ends the current attempt or stream without a word of it. */
  let leave = () => {};
  let watchdog: ReturnType<typeof setInterval> | undefined;
  let abandon = () => {};

  return {
    open: () =>
      new Promise((resolve, reject) => {
        abandon = () => reject(new Error("closed meanwhile"));
        start(resolve, reject);
      }),
    close() {
      isClosed = true;
      leave();
      abandon();
    },
  };

  /** `failed` is given for the first attempt. */
  function start(opened?: () => void, failed?: (error: Error) => void): void {
    let isOpened = false;
    let refusedWith: number | undefined;
    const parser = createSseParser({
      maxDataLength: maxLineLength,
      onEvent: receive,
      onTooLong: () => port.failed(new Error(`the host sent a line of more than ${maxLineLength} characters`)),
    });
    const ended = (error: Error) => {
      leave();
      if (failed !== undefined && !isOpened) failed(error);
      else if (refusedWith !== undefined && !isTemporary(refusedWith)) port.refused(refusedWith);
      else port.cut(error, start);
    };
    const timeout = setTimeout(
      () => ended(new Error(`no answer to GET /stream within ${answerTimeoutMs / 1000} s`)),
      answerTimeoutMs,
    );
    lastHeardAt = performance.now();
    const abort = io.stream("/stream", headers, {
      opened(status, header) {
        clearTimeout(timeout);
        lastHeardAt = performance.now();
        if (status !== 200) {
          refusedWith = status;
          return;
        }
        isOpened = true;
        port.opened();
        noteStart(header("last-event-id"), header(bootHeader));
        if (header("last-event-id") !== undefined) watch(Number(header(keepAliveHeader)), ended);
        opened?.();
      },
      data(chunk) {
        lastHeardAt = performance.now();
        if (refusedWith === undefined) parser.push(chunk);
      },
      ended(error) {
        const refusal =
          refusedWith === undefined ? undefined : new Error(`GET /stream was answered with ${refusedWith}`);
        ended(refusal ?? error ?? new Error("the stream ended"));
      },
    });
    leave = () => {
      clearTimeout(timeout);
      clearInterval(watchdog);
      abort();
      leave = () => {};
    };
  }

  /**
   * If the host continues from an earlier sequence number than ours, the session was restored and its numbers start
   * again.
   */
  function noteStart(from: string | undefined, boot: string | undefined): void {
    if (from === undefined) return;
    const isRestarted = boot !== lastBoot && lastBoot !== undefined;
    lastBoot = boot;
    if (boot !== undefined) headers[bootHeader] = boot;
    const isNumberedAnew = Number(from) < lastSeq;
    if (isNumberedAnew) setLastSeq(Number(from));
    if (isNumberedAnew || isRestarted)
      queueMicrotask(() => {
        if (!isClosed) port.restored();
      });
  }

  /** Ends a stream that has received neither data nor keep-alives for too long. */
  function watch(toldMs: number, ended: (error: Error) => void): void {
    const keepAliveMs = Math.min(Math.max(toldMs || 0, minKeepAliveMs), maxKeepAliveMs);
    watchdog = setInterval(() => {
      if (performance.now() - lastHeardAt >= missedKeepAlives * keepAliveMs) ended(new Error("the host fell silent"));
    }, keepAliveMs);
  }

  function receive({ id, data }: SseEvent): void {
    if (isClosed) return;
    if (id !== undefined) {
      const seq = Number(id);
      if (seq <= lastSeq) return;
      if (Number.isSafeInteger(seq)) setLastSeq(seq);
    }
    let message: Message;
    try {
      message = parseJson(data) as Message;
    } catch {
      return; // Not a message: some hosts greet in plain text.
    }
    port.receive(message);
  }

  function setLastSeq(seq: number): void {
    lastSeq = seq;
    headers["last-event-id"] = String(seq);
  }
}
