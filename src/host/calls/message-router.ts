// Routes each decoded message of one session: a request to the runner, an answer to the question that it
// answers, a shutdown to the session. A message that is not accepted is answered with an error.
import type { Decoded } from "../../protocol/codec.ts";
import { core, handshake, shutdownPayload } from "../../protocol/core.ts";
import { isCompatibleVersion, type Message, protocolVersion } from "../../protocol/envelope.ts";
import { A2EError, refusal } from "../../protocol/errors.ts";
import type { AgentLink } from "../agent/agent-link.ts";
import type { Kernel } from "../kernel.ts";
import type { Outbox } from "../outbound/outbox.ts";
import type { SessionScope } from "../session/session-scope.ts";
import type { RequestEntry } from "./active-call.ts";
import type { CallAudit } from "./call-audit.ts";
import { toErrorMessage } from "./call-errors.ts";
import type { CallRunner } from "./call-runner.ts";

/** The receivers of messages. */
export interface RouterPort {
  readonly calls: CallRunner;
  /** Takes the answers to questions of the host. */
  readonly agent: Pick<AgentLink, "answer" | "handshake">;
  readonly outbox: Pick<Outbox, "send">;
  /** The agent ends the session; its calls may finish within `timeoutMs`. */
  shutdown(timeoutMs: number): void;
}

export class MessageRouter {
  readonly #kernel: Kernel;
  readonly #scope: SessionScope;
  readonly #port: RouterPort;
  readonly #audit: CallAudit;

  constructor(kernel: Kernel, scope: SessionScope, port: RouterPort, audit: CallAudit) {
    this.#kernel = kernel;
    this.#scope = scope;
    this.#port = port;
    this.#audit = audit;
  }

  /** Handles the message of one line. Never throws: every error is sent to the agent. */
  route(decoded: Decoded, bytesIn: number, now: number): void {
    const { message, error, req_id } = decoded;
    if (error !== undefined) return this.answerWithError(error, "", req_id, bytesIn, now);
    const entry = this.#kernel.registry.get(message.type);
    if (entry?.kind === "request") return this.#request(entry, message, req_id, bytesIn, now);
    if (entry?.kind === "response" && entry.asRequest !== undefined && message.req_id === undefined)
      return this.#request(entry.asRequest, message, req_id, bytesIn, now);
    if (entry?.kind === "ask" || entry?.kind === "error") {
      const taken = this.#port.agent.answer(message, entry.kind === "ask" ? entry.call : undefined);
      if (taken instanceof A2EError) return this.answerWithError(taken, message.type, req_id, bytesIn, now);
      const { name } = entry.kind === "ask" ? entry.capability : core;
      if (taken) return this.#audit.handled(now, { type: message.type, capability: name, id: message.id, bytesIn });
    }
    if (entry?.kind === "shutdown") return this.#shutdown(message, req_id, bytesIn, now);
    this.answerWithError(notTaken(message.type, entry !== undefined), message.type, req_id, bytesIn, now);
  }

  #request(entry: RequestEntry, message: Message, req_id: string | undefined, bytesIn: number, now: number): void {
    const version = message.version ?? message.a2e;
    // The handshake handler answers a wrong version itself.
    if (version !== protocolVersion && entry.call !== handshake && !isCompatibleVersion(version))
      return this.answerWithError(versionMismatch(), message.type, req_id, bytesIn, now);
    const { calls } = this.#port;
    if (req_id !== undefined && calls.repeat(req_id)) return;
    const objection = calls.gate.objection(entry, false);
    if (objection !== undefined) return this.answerWithError(objection, message.type, req_id, bytesIn, now);
    const request = entry.call.parseRequest(message, entry.capability.name);
    if (request instanceof A2EError) return this.answerWithError(request, message.type, req_id, bytesIn, now);
    const forbidden = calls.gate.forbids(entry, request);
    if (forbidden !== undefined) return this.answerWithError(forbidden, message.type, req_id, bytesIn, now);
    if (entry.call === handshake) this.#port.agent.handshake = message;
    const overload = calls.start(entry, message.id, request, bytesIn, now, message.traceparent);
    if (entry.call === handshake) this.#port.agent.handshake = undefined;
    if (overload !== undefined) this.answerWithError(overload, message.type, req_id, bytesIn, now);
  }

  #shutdown(message: Message, req_id: string | undefined, bytesIn: number, now: number): void {
    const parsed = shutdownPayload.safeParse(message);
    if (!parsed.success) {
      const detail = { issues: [{ path: "timeout", message: "expected seconds" }] };
      return this.answerWithError(
        new A2EError("schema_violation", "timeout: expected seconds", { detail }),
        message.type,
        req_id,
        bytesIn,
        now,
      );
    }
    this.#audit.handled(now, { type: message.type, capability: core.name, id: message.id, bytesIn });
    this.#port.shutdown(parsed.data.timeout * 1000);
  }

  /** Answers a message that never became a call. */
  answerWithError(error: A2EError, type: string, req_id: string | undefined, bytesIn: number, now: number): void {
    const sent = this.#port.outbox.send(toErrorMessage(this.#scope.sources, error, req_id));
    const about = { type, capability: error.capability_name, id: req_id ?? "", bytesIn };
    this.#audit.refused(now, about, error, sent);
  }
}

function versionMismatch(): A2EError {
  return refusal("version_mismatch", `this host speaks ${protocolVersion}`, { detail: { supported: protocolVersion } });
}

function notTaken(type: string, isKnown: boolean): A2EError {
  // An unknown type may be very long; the error text contains only short types.
  const name = type.length <= 128 ? ` "${type}"` : "";
  return isKnown
    ? refusal("invalid_message", `a host does not take${name}: it sends it`)
    : refusal("unknown_type", `no capability of this host has a message${name}`);
}
