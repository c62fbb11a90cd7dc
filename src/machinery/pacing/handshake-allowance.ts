// Limits the lines and bytes that a peer may send before its handshake has succeeded: enough for a few attempts and pings.
import { A2EError } from "../../protocol/errors.ts";
import type { Limits } from "../../protocol/limits.ts";

type AllowanceLimits = Pick<Limits, "maxLinesBeforeHandshake" | "maxBytesBeforeHandshake">;

export class HandshakeAllowance {
  readonly #limits: AllowanceLimits;
  #lines = 0;
  #bytes = 0;

  constructor(limits: AllowanceLimits) {
    this.#limits = limits;
  }

  /** Counts a line. Returns an error if it exceeds a limit. */
  take(bytes: number): A2EError | undefined {
    const { maxLinesBeforeHandshake: maxLines, maxBytesBeforeHandshake: maxBytes } = this.#limits;
    this.#lines += 1;
    this.#bytes += bytes;
    if (this.#lines > maxLines) return refuse(`more than ${maxLines} lines`, "maxLinesBeforeHandshake");
    if (this.#bytes > maxBytes) return refuse(`more than ${maxBytes} bytes`, "maxBytesBeforeHandshake");
    return undefined;
  }
}

function refuse(excess: string, limit: keyof AllowanceLimits): A2EError {
  return new A2EError("unauthorized", `${excess} came without a handshake: the session ends`, { detail: { limit } });
}
