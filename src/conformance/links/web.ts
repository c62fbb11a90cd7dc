// Plain HTTP requests and raw streams of server-sent events, each with a deadline and without retries or reconnects.
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest, Agent as SecureAgent } from "node:https";
import { createSseParser, type SseEvent } from "../../framing/sse.ts";
import { noteReceived, type Traffic } from "../traffic.ts";

interface WebAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface WebRequest {
  readonly headers?: Record<string, string>;
  /** Pieces are sent in writes of their own. */
  readonly body?: string | readonly Uint8Array[];
}

interface EventStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly events: readonly SseEvent[];
  /** Resolves with the first event that fits, among those that have come or will. */
  find(fits: (event: SseEvent) => boolean, what: string): Promise<SseEvent>;
  close(): void;
}

interface StreamOptions {
  readonly headers?: Record<string, string>;
  onEvent?(event: SseEvent): void;
  onEnd?(): void;
}

export interface Web {
  readonly url: string;
  send(method: string, path: string, options?: WebRequest): Promise<WebAnswer>;
  stream(path: string, options?: StreamOptions): Promise<EventStream>;
  close(): void;
}

const maxEventLength = 64 * 1024 * 1024;

export function createWeb(url: string, traffic: Traffic, deadlineMs: number): Web {
  const isSecure = url.startsWith("https:");
  const base = url.replace(/\/+$/, "");
  const agent = new (isSecure ? SecureAgent : Agent)({ keepAlive: true });
  const open = isSecure ? httpsRequest : httpRequest;

  function begin(method: string, path: string, { headers = {}, body }: WebRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => request.destroy(new Error(`${method} ${path}: no answer within ${deadlineMs} ms`)),
        deadlineMs,
      );
      const request = open(base + path, { method, headers, agent }, resolve);
      request.on("error", reject);
      request.on("close", () => clearTimeout(timer));
      request.on("response", () => clearTimeout(timer));
      if (body === undefined || typeof body === "string") request.end(body);
      else void writePieces(request, body);
    });
  }

  return {
    url: base,
    async send(method, path, options = {}) {
      const response = await begin(method, path, options);
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
    },
    async stream(path, { headers = {}, onEvent, onEnd } = {}) {
      const response = await begin("GET", path, { headers });
      return readEvents(response, traffic, deadlineMs, onEvent, onEnd);
    },
    close: () => agent.destroy(),
  };
}

async function writePieces(request: ReturnType<typeof httpRequest>, pieces: readonly Uint8Array[]): Promise<void> {
  request.setNoDelay(true);
  for (const piece of pieces) {
    await new Promise<void>((resolve) => request.write(piece, () => setImmediate(resolve)));
  }
  request.end();
}

function readEvents(
  response: IncomingMessage,
  traffic: Traffic,
  deadlineMs: number,
  onEvent: StreamOptions["onEvent"],
  onEnd: StreamOptions["onEnd"],
): EventStream {
  const events: SseEvent[] = [];
  const listeners = new Set<(event: SseEvent) => void>();
  const bytes: Uint8Array[] = [];
  const isStream = response.statusCode === 200;
  if (isStream) traffic.streams.push(bytes);
  // A stream without a peer counts as a session of its own: lines it repeats are not second answers.
  const session = -traffic.streams.length;
  const parser = createSseParser({
    maxDataLength: maxEventLength,
    onTooLong: () => response.destroy(),
    onEvent(event) {
      events.push(event);
      if (onEvent === undefined) noteReceived(traffic, session, event.data);
      else onEvent(event);
      for (const listener of [...listeners]) listener(event);
    },
  });
  response.on("data", (chunk: Buffer) => {
    bytes.push(chunk);
    if (isStream) parser.push(chunk);
  });
  response.on("error", () => {});
  response.on("close", () => onEnd?.());
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    find(fits, what) {
      const known = events.find(fits);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve, reject) => {
        const listener = (event: SseEvent) => {
          if (!fits(event)) return;
          finish();
          resolve(event);
        };
        const timer = setTimeout(() => {
          finish();
          reject(new Error(`no ${what} on the stream within ${deadlineMs} ms`));
        }, deadlineMs);
        const finish = () => {
          clearTimeout(timer);
          listeners.delete(listener);
        };
        listeners.add(listener);
      });
    },
    close: () => response.destroy(),
  };
}
