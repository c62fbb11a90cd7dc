// What the HTTP transport needs of a platform. Callbacks, not promises and streams: one call costs two of these, and in
// Node the difference is a third of its time.

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

/** A host answers a POST as soon as it has it; one that takes longer than this is taken for gone, and asked again. */
export const answerTimeoutMs = 30_000;

/** An answer to a POST is a few fields; of a longer one, as from something that is no host, no more than this is kept. */
export const maxAnswerLength = 64 * 1024;

/** One origin, one conversation: requests go out one after the other, the stream beside them. */
export interface HttpIo {
  /**
   * Sends a body and calls back once, never from within the call: with an answer, or with the error that there is none
   * or none in time.
   */
  post(
    path: string,
    headers: Record<string, string>,
    body: string,
    done: (error: Error | undefined, answer?: HttpAnswer) => void,
  ): void;
  /** Opens a long answer; returns what aborts it. */
  stream(path: string, headers: Record<string, string>, events: HttpStreamEvents): () => void;
  /** Ends whatever is open. */
  close(): Promise<void>;
}

export type CreateHttpIo = (baseUrl: string) => HttpIo | Promise<HttpIo>;
