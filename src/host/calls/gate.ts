// Decides whether a request may be served: not before the handshake, not while the session closes, and only if its capability
// was negotiated. Requests of the agent and calls that handlers make pass the same gate.

import type { SessionInfo } from "../../plugin/call-context.ts";
import { core, handshake, ping } from "../../protocol/core.ts";
import { type A2EError, refusal } from "../../protocol/errors.ts";
import type { Capability } from "../../protocol/table/capability.ts";
import type { SessionLife } from "../session/session-life.ts";
import type { RequestEntry } from "./active-call.ts";

export class Gate {
  readonly #info: Required<SessionInfo>;
  readonly #life: SessionLife;
  /** A cache: most calls use the same capability as the call before, and a granted capability is never revoked. */
  #lastAdmitted: Capability | undefined;

  constructor(info: Required<SessionInfo>, life: SessionLife) {
    this.#info = info;
    this.#life = life;
  }

  /** The error if the request may not be served now, otherwise undefined. A nested request belongs to a call in flight. */
  objection(entry: RequestEntry, isNested: boolean): A2EError | undefined {
    if (entry.capability === this.#lastAdmitted && this.#life.isOpen) return undefined;
    return this.#look(entry, isNested);
  }

  /** Not part of `objection`, so that the engine can inline the common path. */
  #look({ call, capability }: RequestEntry, isNested: boolean): A2EError | undefined {
    const { status } = this.#life;
    if (call === ping) return undefined;
    // A call in flight may still make nested calls, or it could not finish.
    if (status === "closing" && !isNested) return refusal("cancelled", "the session is shutting down");
    if (call === handshake) return undefined;
    const { name } = capability;
    if (status !== "open" && status !== "closing")
      return refusal("unauthorized", "shake hands first: send handshake/req", { capability_name: name });
    if (capability !== core && !this.#info.granted.has(name)) {
      const message = `the capability "${name}" was not negotiated: name it in agent_caps of the handshake`;
      return refusal("capability_missing", message, { capability_name: name });
    }
    this.#lastAdmitted = capability;
    return undefined;
  }
}
