// Limits the bytes that wait in the host's memory for a server that does not read.

/** Twice the longest message. */
export function maxUnsentBytes({ maxMessageBytes }: { readonly maxMessageBytes: number }): number {
  return 2 * maxMessageBytes;
}

export class ServerDoesNotRead extends Error {
  constructor() {
    super("the server does not read its input");
  }
}
