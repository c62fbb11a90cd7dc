// An agent's end of HTTP: lines are sent in POSTs, one at a time, and received over a stream of server-sent events.
// Both survive cuts: a POST is repeated until it is answered (the host recognises ids it has seen), and the stream
// resumes after the last line that arrived. Runs in browsers; `http-node.ts` is faster in Node.

import { encodeMessage } from "../../protocol/codec.ts";
import type { Transport, TransportEvents } from "../../protocol/transport.ts";
import { type Backoff, createBackoff, type ReconnectOptions } from "../backoff.ts";
import { toShownUrl } from "../shown-url.ts";
import { createFetchIo } from "./http-fetch.ts";
import type { CreateHttpIo, HttpAnswer, HttpIo } from "./http-io.ts";
import { createHttpPosts, describeAnswer } from "./http-posts.ts";
import { createHttpStream, type HttpStream } from "./http-stream.ts";

export interface HttpTransportOptions {
  /** The address of the host: `http://127.0.0.1:8765`. */
  url: string;
  /** Joins an existing session instead of creating one. */
  sessionId?: string;
  token?: string;
  reconnect?: ReconnectOptions;
  /** Longest line accepted from the host; a longer line ends the link. */
  maxLineLength?: number;
  fetch?: typeof globalThis.fetch;
  createIo?: CreateHttpIo;
}

/** Closing waits this long for the last lines to be taken. */
const closeTimeoutMs = 2_000;

export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { token, reconnect, maxLineLength = 64 * 1024 * 1024 } = options;
  const baseUrl = options.url.replace(/\/+$/, "");
  const shownUrl = toShownUrl(baseUrl);
  let state: "new" | "opening" | "open" | "closed" = "new";
  let events: TransportEvents;
  let io: HttpIo;
  let closing: Promise<void> | undefined;
  /** Sent with every request; the last line that arrived is acknowledged with it. */
  const headers: Record<string, string> = { "content-type": "application/x-ndjson" };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;

  const postBackoff = createBackoff(reconnect);
  const posts = createHttpPosts({
    post: (body, done) => io.post("/send", headers, body, done),
    taken: () => postBackoff.proven(),
    failed: (reason, again) => later(postBackoff, reason, again),
    refused: (answer) => end(goneError(answer)),
  });
  const streamBackoff = createBackoff(reconnect);
  let stream: HttpStream | undefined;
  const timers = new Set<ReturnType<typeof setTimeout>>();

  return {
    open,
    send(message) {
      if (state !== "open" || closing !== undefined) throw new Error("transport is not open");
      posts.add(encodeMessage(message));
    },
    close() {
      closing ??= close();
      return closing;
    },
  };

  async function open(listener: TransportEvents): Promise<void> {
    if (state !== "new") throw new Error("transport was opened already");
    state = "opening";
    events = listener;
    try {
      io = await (options.createIo ?? ((url) => createFetchIo(url, options.fetch)))(baseUrl);
      checkWanted();
      headers["x-session-id"] = options.sessionId ?? (await createSession());
      checkWanted();
      stream = createHttpStream({
        io,
        headers,
        maxLineLength,
        opened() {
          streamBackoff.opened();
          if (state === "opening") state = "open";
        },
        receive(message) {
          streamBackoff.proven();
          events.receive(message);
        },
        restored: () => events.restored(),
        cut: (reason, again) => later(streamBackoff, reason, again),
        refused: (status) => end(goneError({ status, body: "" })),
        failed: end,
      });
      await stream.open();
    } catch (cause) {
      state = "closed";
      await release();
      throw new Error(`could not reach a host at ${shownUrl}: ${(cause as Error).message}`, { cause });
    }
  }

  function checkWanted(): void {
    if (state === "closed") throw new Error("closed meanwhile");
  }

  function createSession(): Promise<string> {
    return new Promise((resolve, reject) => {
      io.post("/session", headers, "", (error, answer) => {
        const sessionId = answer?.status === 200 ? parseSessionId(answer.body) : undefined;
        if (sessionId !== undefined) resolve(sessionId);
        else reject(error ?? new Error(`POST /session was answered with ${describeAnswer(answer)}`));
      });
    });
  }

  function later(backoff: Backoff, reason: Error, attempt: () => void): void {
    if (state !== "open") return;
    const delayMs = backoff.next();
    if (delayMs === undefined)
      return end(
        new Error(`the host at ${shownUrl} could not be reached for too long: ${reason.message}`, { cause: reason }),
      );
    after(delayMs, attempt);
  }

  /** A timer that ends with the transport. */
  function after(delayMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, delayMs);
    timers.add(timer);
  }

  function end(reason?: Error): void {
    if (state === "closed") return;
    const wasOpen = state === "open";
    state = "closed";
    void release();
    if (wasOpen) events.closed(reason);
  }

  async function close(): Promise<void> {
    if (state === "open")
      await Promise.race([posts.whenIdle(), new Promise<void>((resolve) => after(closeTimeoutMs, resolve))]);
    end();
    await release();
  }

  async function release(): Promise<void> {
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
    stream?.close();
    posts.clear();
    await io?.close();
  }
}

function goneError(answer: HttpAnswer): Error {
  if (answer.status === 404) return new Error("the session is gone: the host closed it or no longer has it");
  return new Error(`the host refuses this session: ${describeAnswer(answer)}`);
}

function parseSessionId(body: string): string | undefined {
  try {
    const { session_id } = JSON.parse(body) as { session_id?: unknown };
    return typeof session_id === "string" ? session_id : undefined;
  } catch {
    return undefined;
  }
}
