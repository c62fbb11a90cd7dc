// An agent's end of HTTP: lines go out in POSTs, one at a time, and come back over one stream of server-sent events.
// Both survive cuts: a POST is repeated until it is answered (the host knows ids it has seen), and the stream resumes
// after the last line that arrived. Runs in browsers; `http-node.ts` is the faster way in Node.

import { encodeMessage } from "../protocol/codec.ts";
import type { Message } from "../protocol/envelope.ts";
import { parseJson } from "../protocol/json.ts";
import { bootHeader, createSseParser, type SseEvent } from "../protocol/sse.ts";
import type { Transport, TransportEvents } from "../protocol/transport.ts";
import { type Backoff, createBackoff, type ReconnectOptions } from "./backoff.ts";
import { createFetchIo } from "./http-fetch.ts";
import type { CreateHttpIo, HttpAnswer, HttpIo } from "./http-io.ts";
import { oncePerTurn } from "./turn.ts";

export interface HttpTransportOptions {
  /** Where the host is: `http://127.0.0.1:8765`. */
  url: string;
  /** Joins a session that is there already, instead of creating one. */
  sessionId?: string;
  token?: string;
  reconnect?: ReconnectOptions;
  /** Longest line taken from the host; a longer one ends the link. */
  maxLineLength?: number;
  fetch?: typeof globalThis.fetch;
  createIo?: CreateHttpIo;
}

/** Lines of one POST, unless a single one is longer: well below what a host takes in one body. */
const maxPostLength = 1024 * 1024;
/** A stream that was silent for three keep-alives of the host is dead. Counted only where the host sends them. */
const maxSilenceMs = 45_000;
/** Closing waits this long for the last lines to be taken. */
const closeTimeoutMs = 2_000;

export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { token, reconnect, maxLineLength = 64 * 1024 * 1024 } = options;
  const baseUrl = options.url.replace(/\/+$/, "");
  let state: "new" | "opening" | "open" | "closed" = "new";
  let events: TransportEvents;
  let io: HttpIo;
  /** Sent with every request; the last line that arrived is acknowledged with it. */
  const headers: Record<string, string> = { "content-type": "application/x-ndjson" };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;

  let outgoing: string[] = [];
  let isPosting = false;
  let whenIdle: (() => void) | undefined;
  const postBackoff = createBackoff(reconnect);
  const flushSoon = oncePerTurn(flush);

  let lastSeq = 0;
  /** The run of the host that the stream last came from, where it says so. */
  let lastBoot: string | undefined;
  let abortStream = () => {};
  let lastHeardAt = 0;
  let watchdog: ReturnType<typeof setInterval> | undefined;
  const streamBackoff = createBackoff(reconnect);
  const timers = new Set<ReturnType<typeof setTimeout>>();

  return { open, send, close };

  async function open(listener: TransportEvents): Promise<void> {
    if (state !== "new") throw new Error("transport was opened already");
    state = "opening";
    events = listener;
    try {
      io = await (options.createIo ?? ((url) => createFetchIo(url, options.fetch)))(baseUrl);
      headers["x-session-id"] = options.sessionId ?? (await createSession());
      await new Promise<void>((resolve, reject) => openStream(resolve, reject));
    } catch (cause) {
      state = "closed";
      await release();
      throw new Error(`could not reach a host at ${baseUrl}: ${(cause as Error).message}`, { cause });
    }
  }

  function createSession(): Promise<string> {
    return new Promise((resolve, reject) => {
      io.post("/session", headers, "", (error, answer) => {
        const sessionId = answer?.status === 200 ? parseSessionId(answer.body) : undefined;
        if (sessionId !== undefined) resolve(sessionId);
        else reject(error ?? new Error(`POST /session was answered with ${describe(answer)}`));
      });
    });
  }

  // ── to the host ──

  function send(message: Message): void {
    if (state !== "open") throw new Error("transport is not open");
    outgoing.push(encodeMessage(message));
    if (!isPosting) flushSoon();
  }

  function flush(): void {
    if (isPosting || outgoing.length === 0 || io === undefined) return;
    isPosting = true;
    post(takeBatch());
  }

  function takeBatch(): string {
    let length = 0;
    let count = 0;
    for (const line of outgoing) {
      if (count > 0 && length + line.length > maxPostLength) break;
      length += line.length;
      count += 1;
    }
    const batch = count === outgoing.length ? outgoing : outgoing.slice(0, count);
    outgoing = count === outgoing.length ? [] : outgoing.slice(count);
    return batch.length === 1 ? (batch[0] as string) : batch.join("\n");
  }

  /** One POST at a time keeps the order, and whatever is sent meanwhile travels together in the next. */
  function post(body: string): void {
    io.post("/send", headers, body, (error, answer) => {
      if (answer !== undefined && (answer.status < 300 || answer.status === 413)) {
        // 413: the host tells the session of it; a repetition would be as long.
        isPosting = false;
        postBackoff.reset();
        if (outgoing.length > 0) flushSoon();
        else whenIdle?.();
      } else if (answer !== undefined && isFinal(answer.status)) end(goneError(answer));
      else later(postBackoff, error ?? new Error(describe(answer)), () => post(body));
    });
  }

  // ── from the host ──

  /** `failed` is given for the first attempt, which is not repeated. */
  function openStream(opened?: () => void, failed?: (error: Error) => void): void {
    let isOpened = false;
    let refusal: Error | undefined;
    let isFinalRefusal = false;
    const parser = createSseParser({
      maxDataLength: maxLineLength,
      onEvent: receive,
      onTooLong: () => end(new Error(`the host sent a line of more than ${maxLineLength} characters`)),
    });
    abortStream = io.stream("/stream", headers, {
      opened(status, header) {
        lastHeardAt = performance.now();
        if (status === 200) {
          isOpened = true;
          if (state === "opening") state = "open";
          streamBackoff.reset();
          noteStart(header("last-event-id"), header(bootHeader));
          opened?.();
        } else {
          isFinalRefusal = isFinal(status);
          refusal = isFinalRefusal
            ? goneError({ status, body: "" })
            : new Error(`GET /stream was answered with ${status}`);
        }
      },
      data(chunk) {
        lastHeardAt = performance.now();
        if (refusal === undefined) parser.push(chunk);
      },
      ended(error) {
        const reason = refusal ?? error ?? new Error("the stream ended");
        if (failed !== undefined && !isOpened) failed(reason);
        else if (isFinalRefusal) end(reason);
        else later(streamBackoff, reason, () => openStream());
      },
    });
  }

  /** Where the host reads from an earlier place than ours, it is another life of the session: its numbers start again. */
  function noteStart(start: string | undefined, boot: string | undefined): void {
    if (start === undefined) return;
    const isRestarted = boot !== lastBoot && lastBoot !== undefined;
    lastBoot = boot;
    watchdog ??= setInterval(() => {
      if (performance.now() - lastHeardAt < maxSilenceMs) return;
      abortStream();
      later(streamBackoff, new Error("the host fell silent"), () => openStream());
    }, maxSilenceMs / 3);
    const isNumberedAnew = Number(start) < lastSeq;
    if (isNumberedAnew) setLastSeq(Number(start));
    if (isNumberedAnew || isRestarted)
      queueMicrotask(() => {
        if (state === "open") events.restored();
      });
  }

  function receive({ id, data }: SseEvent): void {
    if (state === "closed") return;
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
    events.receive(message);
  }

  function setLastSeq(seq: number): void {
    lastSeq = seq;
    headers["last-event-id"] = String(seq);
  }

  // ── cuts and the end ──

  function later(backoff: Backoff, reason: Error, attempt: () => void): void {
    if (state !== "open") return;
    const delayMs = backoff.next();
    if (delayMs === undefined)
      return end(
        new Error(`the host at ${baseUrl} could not be reached for too long: ${reason.message}`, { cause: reason }),
      );
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (state === "open") attempt();
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
    if (state === "open" && (isPosting || outgoing.length > 0)) {
      flush();
      await new Promise<void>((resolve) => {
        whenIdle = resolve;
        timers.add(setTimeout(resolve, closeTimeoutMs));
      });
    }
    end();
    await release();
  }

  async function release(): Promise<void> {
    clearInterval(watchdog);
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
    abortStream();
    outgoing = [];
    whenIdle?.();
    await io?.close();
  }
}

/** What no repetition changes. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}

function goneError(answer: HttpAnswer): Error {
  if (answer.status === 404) return new Error("the session is gone: the host closed it or no longer knows it");
  return new Error(`the host refuses this session: ${describe(answer)}`);
}

function describe(answer: HttpAnswer | undefined): string {
  return answer === undefined ? "nothing" : `${answer.status} ${answer.body.slice(0, 200)}`.trim();
}

function parseSessionId(body: string): string | undefined {
  try {
    const { session_id } = JSON.parse(body) as { session_id?: unknown };
    return typeof session_id === "string" ? session_id : undefined;
  } catch {
    return undefined;
  }
}
