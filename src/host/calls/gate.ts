// Decides whether a request may be served: not before the handshake, not while the session closes, only if its capability was
// negotiated, and only if its principal has the right. Requests of the agent and calls that handlers make pass the same
// gate, so a chain or a skill has the rights of its caller.

import type { Principal } from "../../plugin/principal.ts";
import { core, handshake, ping } from "../../protocol/core.ts";
import { A2EError, refusal } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Capability } from "../../protocol/table/capability.ts";
import { renderRule } from "../../rights/explain.ts";
import { showResources } from "../../rights/shown-resources.ts";
import type { LiveInfo } from "../session/live-info.ts";
import type { SessionLife } from "../session/session-life.ts";
import type { SessionParts } from "../session/session-parts.ts";
import type { Sources } from "../sources.ts";
import type { RequestEntry } from "./active-call.ts";

/** A call that the principal has no right to. The rule is for the audit log; the agent does not see it. */
export class ForbiddenError extends A2EError {
  readonly rule: string;

  constructor(message: string, capability_name: string, rule: string) {
    super("forbidden", message, { capability_name });
    this.rule = rule;
  }
}

export class Gate {
  readonly #info: LiveInfo;
  readonly #life: SessionLife;
  readonly #sources: Sources;
  readonly #parts: Pick<SessionParts, "of">;
  /** A cache: most calls use the same capability as the call before, and a granted capability is never revoked. */
  #lastAdmitted: Capability | undefined;
  #lastPrincipal: Principal | undefined;

  constructor(info: LiveInfo, life: SessionLife, sources: Sources, parts: Pick<SessionParts, "of">) {
    this.#info = info;
    this.#life = life;
    this.#sources = sources;
    this.#parts = parts;
  }

  /** Whether the principal may make every call. */
  get isUnrestricted(): boolean {
    return this.#info.rights.isEverything;
  }

  /** The error if the request may not be served now, otherwise undefined. A nested request belongs to a call in flight. */
  objection(entry: RequestEntry, isNested: boolean): A2EError | undefined {
    if (entry.capability === this.#lastAdmitted && this.#info.principal === this.#lastPrincipal && this.#life.isOpen)
      return undefined;
    return this.#look(entry, isNested);
  }

  /** Not part of `objection`, so that the engine can inline the common path. */
  #look({ call, capability }: RequestEntry, isNested: boolean): A2EError | undefined {
    const { status } = this.#life;
    const { principal, granted } = this.#info;
    const { expiresAt } = principal;
    if (call === ping) return undefined;
    // A call in flight may still make nested calls, or it could not finish.
    if (status === "closing" && !isNested) return refusal("cancelled", "the session is shutting down");
    if (call === handshake) return undefined;
    const { name } = capability;
    if (status !== "open" && status !== "closing")
      return refusal("unauthorized", "shake hands first: send handshake/req", { capability_name: name });
    if (expiresAt !== undefined && this.#sources.clock.now() >= expiresAt)
      return refusal("unauthorized", "the credential has expired: shake hands again with a new one", {
        capability_name: name,
      });
    if (capability !== core && !granted.has(name)) {
      const message = `the capability "${name}" was not negotiated: name it in agent_caps of the handshake`;
      return refusal("capability_missing", message, { capability_name: name });
    }
    // Not remembered for a credential that expires.
    this.#lastAdmitted = expiresAt === undefined ? capability : undefined;
    this.#lastPrincipal = principal;
    return undefined;
  }

  /** The error if the principal has no right to make this call about the resources that its request names. */
  forbids(entry: RequestEntry, request: JsonObject): ForbiddenError | undefined {
    const { rights } = this.#info;
    if (rights.isEverything) return undefined;
    const { name } = entry.capability;
    const decision = rights.decideRequest(entry, request, (kind, id) => {
      for (const part of this.#parts.of(name)) {
        const found = part.resourceOf?.(kind, id);
        if (found !== undefined) return found;
      }
      return undefined;
    });
    if (decision.allowed) return undefined;
    const message = `this principal may not use "${entry.call.type}" like this: its roles do not allow it`;
    return new ForbiddenError(message, name, renderRule(decision.rule));
  }

  /** A list without the resources that the principal may not use. */
  shown(entry: RequestEntry, result: JsonObject): JsonObject {
    const { rights } = this.#info;
    return rights.isEverything ? result : showResources(rights, entry, result);
  }
}
