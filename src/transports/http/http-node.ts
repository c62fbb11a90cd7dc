// HTTP in Node by way of undici's dispatcher: three to eight times the calls per second of the built-in fetch.
import { StringDecoder } from "node:string_decoder";
import type { buildConnector, Client, Dispatcher } from "undici";
import type { Transport } from "../../protocol/transport.ts";
import type { ClientTls } from "../client-tls.ts";
import { createHttpTransport, type HttpTransportOptions } from "./http.ts";
import { answerTimeoutMs, type HttpIo, type HttpStreamEvents, maxAnswerLength } from "./http-io.ts";

/** The HTTP transport as it should be used in Node. */
export function createNodeHttpTransport({ tls, ...options }: HttpTransportOptions & { tls?: ClientTls }): Transport {
  return createHttpTransport({ createIo: (baseUrl) => createNodeHttpIo(baseUrl, tls), ...options });
}

export async function createNodeHttpIo(baseUrl: string, tls?: ClientTls): Promise<HttpIo> {
  // Loaded on first use: programs that talk to their host over a pipe never pay for it.
  const undici = await import("undici");
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname === "/" ? "" : pathname;
  const connection = tls === undefined ? {} : { connect: tls as buildConnector.BuildOptions };
  // The stream has a connection of its own, silent for as long as the session is.
  const posts = new undici.Client(origin, {
    keepAliveTimeout: 60_000,
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
    ...connection,
  });
  const streams = new undici.Client(origin, { bodyTimeout: 0, ...connection });
  return {
    post: (path, headers, body, done) => dispatchPost(posts, prefix + path, headers, body, done),
    stream: (path, headers, events) => dispatchStream(streams, prefix + path, headers, events),
    async close() {
      await Promise.all([posts.destroy(), streams.destroy()]);
    },
  };
}

function dispatchPost(
  client: Client,
  path: string,
  headers: Record<string, string>,
  body: string,
  done: Parameters<HttpIo["post"]>[3],
): void {
  let status = 0;
  let text = "";
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {},
    onResponseStart(_controller, statusCode) {
      status = statusCode;
    },
    onResponseData(controller, chunk) {
      text += chunk.toString("utf8");
      if (text.length > maxAnswerLength) controller.abort(new Error("too long an answer for a host"));
    },
    onResponseEnd() {
      done(undefined, { status, body: text });
    },
    onResponseError(_controller, error) {
      queueMicrotask(() => done(error));
    },
  };
  client.dispatch({ path, method: "POST", headers, body }, handler);
}

function dispatchStream(
  client: Client,
  path: string,
  headers: Record<string, string>,
  events: HttpStreamEvents,
): () => void {
  const decoder = new StringDecoder("utf8");
  let controller: Dispatcher.DispatchController | undefined;
  let isAborted = false;
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (isAborted) started.abort(new Error("aborted"));
    },
    onResponseStart(_controller, statusCode, responseHeaders) {
      if (isAborted) return;
      events.opened(statusCode, (name) => {
        const value = responseHeaders[name];
        return typeof value === "string" ? value : undefined;
      });
    },
    onResponseData(_controller, chunk) {
      if (!isAborted) events.data(decoder.write(chunk));
    },
    onResponseEnd() {
      finish();
    },
    onResponseError(_controller, error) {
      queueMicrotask(() => finish(error));
    },
  };
  const finish = (error?: Error) => {
    if (isAborted) return;
    isAborted = true;
    events.ended(error);
  };
  client.dispatch({ path, method: "GET", headers }, handler);
  return () => {
    if (isAborted) return;
    isAborted = true;
    controller?.abort(new Error("aborted"));
  };
}
