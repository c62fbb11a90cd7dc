// The platform functions that the HTTP transport needs. They take callbacks instead of promises and streams: a call
// needs two of them, and in Node the difference is a third of its time.

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export interface HttpStreamEvents {
  /** Called once, before any data. `header` looks up a response header by its lower-case name. */
  opened(status: number, header: (name: string) => string | undefined): void;
  data(chunk: string | Uint8Array): void;
  /** Called once, last: the stream ended, failed or never came to be. Not called after `abort`. */
  ended(error?: Error): void;
}

/** A host answers a POST as soon as it has the body. After this time without an answer the POST is repeated. */
export const answerTimeoutMs = 30_000;

/**
 * An answer to a POST is a few fields. Of a longer answer, for example from a server that is not a host, only this
 * many characters are read.
 */
export const maxAnswerLength = 64 * 1024;

/** Requests to a single origin are sent one after the other; the stream runs beside them. */
export interface HttpIo {
  /**
   * Sends a body and calls back once, never before it returns: with the answer, or with an error if there is no answer
   * in time.
   */
  post(
    path: string,
    headers: Record<string, string>,
    body: string,
    done: (error: Error | undefined, answer?: HttpAnswer) => void,
  ): void;
  /** Opens the stream; returns a function that aborts it. */
  stream(path: string, headers: Record<string, string>, events: HttpStreamEvents): () => void;
  /** Closes all open connections. */
  close(): Promise<void>;
}

export type CreateHttpIo = (baseUrl: string) => HttpIo | Promise<HttpIo>;
