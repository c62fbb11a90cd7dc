// HTTP by way of `fetch`, for browsers, workers and other platforms that have it.
import { answerTimeoutMs, type HttpAnswer, type HttpIo, maxAnswerLength } from "./http-io.ts";

/** `fetch` does not report when a body has been sent, so a long body gets more time: as on a link of 16 kB a second. */
const charactersPerMs = 16;

export function createFetchIo(
  baseUrl: string,
  fetch: typeof globalThis.fetch = globalThis.fetch.bind(globalThis),
): HttpIo {
  const open = new Set<AbortController>();
  const begin = () => {
    const aborting = new AbortController();
    open.add(aborting);
    return aborting;
  };
  return {
    post(path, headers, body, done) {
      const aborting = begin();
      const timeoutMs = answerTimeoutMs + body.length / charactersPerMs;
      const timer = setTimeout(() => aborting.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      fetch(baseUrl + path, { method: "POST", headers, body, signal: aborting.signal })
        .then(readAnswer)
        .finally(() => {
          clearTimeout(timer);
          open.delete(aborting);
        })
        .then(
          (answer) => done(undefined, answer),
          (error: Error) => done(error),
        );
    },
    stream(path, headers, events) {
      const aborting = begin();
      const read = async () => {
        const response = await fetch(baseUrl + path, { headers, signal: aborting.signal, cache: "no-store" });
        events.opened(response.status, (name) => response.headers.get(name) ?? undefined);
        const reader = response.body?.getReader();
        for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
          if (!aborting.signal.aborted) events.data(next.value);
        }
      };
      const finish = (error?: Error) => {
        open.delete(aborting);
        if (!aborting.signal.aborted) events.ended(error);
      };
      read().then(
        () => finish(),
        (error: Error) => finish(error),
      );
      return () => aborting.abort();
    },
    async close() {
      for (const aborting of open) aborting.abort();
    },
  };
}

async function readAnswer(response: Response): Promise<HttpAnswer> {
  const { status, headers } = response;
  const length = headers.get("content-length");
  if (length !== null && Number(length) <= maxAnswerLength) return { status, body: await response.text() };
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let body = "";
  for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
    body += decoder.decode(next.value, { stream: true });
    if (body.length < maxAnswerLength) continue;
    await reader?.cancel();
    break;
  }
  return { status, body };
}
