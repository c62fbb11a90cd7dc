import type { SessionInfo } from "../../plugin/call-context.ts";
import { anonymous, type Principal } from "../../plugin/principal.ts";

import { everything, type Rights } from "../../rights/rights.ts";

const nothing: ReadonlySet<string> = new Set();

/** Written by its session alone: the principal when an agent is let in, the capabilities once their plugins are open. */
export class LiveInfo implements Required<SessionInfo> {
  readonly id: string;
  principal: Principal = anonymous;
  granted: ReadonlySet<string> = nothing;
  /** What the principal may do; everything until an agent is let in, since the gate lets no call pass before. */
  rights: Rights = everything;
  readonly #handleOf: (sessionId: string) => string;
  #handle: string | undefined;

  constructor(id: string, handleOf: (sessionId: string) => string) {
    this.id = id;
    this.#handleOf = handleOf;
  }

  /** Computed when first needed. */
  get handle(): string {
    this.#handle ??= this.#handleOf(this.id);
    return this.#handle;
  }
}
