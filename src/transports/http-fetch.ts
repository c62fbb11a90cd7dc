// HTTP by way of `fetch`: browsers, workers and every other place that has one.
import type { HttpIo } from "./http-io.ts";

export function createFetchIo(
  baseUrl: string,
  fetch: typeof globalThis.fetch = globalThis.fetch.bind(globalThis),
): HttpIo {
  const closing = new AbortController();
  return {
    post(path, headers, body, done) {
      const request = { method: "POST", headers, body, signal: closing.signal };
      fetch(baseUrl + path, request)
        .then(async (response) => ({ status: response.status, body: await response.text() }))
        .then(
          (answer) => done(undefined, answer),
          (error: Error) => done(error),
        );
    },
    stream(path, headers, events) {
      const aborting = new AbortController();
      const read = async () => {
        const signal = AbortSignal.any([aborting.signal, closing.signal]);
        const response = await fetch(baseUrl + path, { headers, signal, cache: "no-store" });
        events.opened(response.status, (name) => response.headers.get(name) ?? undefined);
        const reader = response.body?.getReader();
        for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
          if (!aborting.signal.aborted) events.data(next.value);
        }
      };
      read().then(
        () => finish(),
        (error: Error) => finish(error),
      );
      const finish = (error?: Error) => {
        if (!aborting.signal.aborted) events.ended(error);
      };
      return () => aborting.abort();
    },
    async close() {
      closing.abort();
    },
  };
}
