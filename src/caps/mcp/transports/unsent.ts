// What a server has been sent and has not read waits in the host's memory: not for ever, and not in any amount.

/** Two of the longest messages. */
export function maxUnsentBytes({ maxMessageBytes }: { readonly maxMessageBytes: number }): number {
  return 2 * maxMessageBytes;
}

export class ServerDoesNotRead extends Error {
  constructor() {
    super("the server does not read what it is sent");
  }
}
