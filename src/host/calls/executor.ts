// Takes the messages of one session from decoding to a running call: type, version, repetition, gate, schema.
import type { Call } from "../../protocol/capability.ts";
import type { Decoded } from "../../protocol/codec.ts";
import { core, handshake, shutdownPayload } from "../../protocol/core.ts";
import { isCompatibleVersion, type Message, protocolVersion } from "../../protocol/envelope.ts";
import { A2EError, refusal } from "../../protocol/errors.ts";
import type { Kernel } from "../kernel.ts";
import type { RequestEntry } from "./active-call.ts";
import { CallAudit, type CallAuditLog } from "./call-audit.ts";
import { toErrorMessage } from "./call-errors.ts";
import { CallRunner, type RunnerPort } from "./call-runner.ts";

/** What the executor needs of its session. */
export interface ExecutorPort extends RunnerPort {
  /** Takes what may answer a question of the host: true where it does, an error where it does so badly. */
  answerAsk(message: Message, asked: Call | undefined): A2EError | boolean;
  shutdown(timeoutMs: number): void;
}

export class Executor {
  readonly calls: CallRunner;
  readonly #kernel: Kernel;
  readonly #port: ExecutorPort;
  readonly #audit: CallAudit;

  constructor(kernel: Kernel, port: ExecutorPort, auditLog?: CallAuditLog) {
    this.#kernel = kernel;
    this.#port = port;
    const audit = new CallAudit(kernel, port.info, auditLog);
    this.#audit = audit;
    this.calls = new CallRunner(kernel, port, (call, endedAt, errorCode, answer) =>
      audit.ended(call, endedAt, errorCode, answer),
    );
  }

  /** Handles what came of one line. Never throws: whatever is wrong is answered. */
  handle(decoded: Decoded, bytesIn: number, now: number): void {
    const { message, error, req_id } = decoded;
    if (error !== undefined) return this.refuse(error, "", req_id, bytesIn, now);
    const entry = this.#kernel.registry.get(message.type);
    if (entry?.kind === "request") return this.#request(entry, message, req_id, bytesIn, now);
    if (entry?.kind === "response" && entry.asRequest !== undefined && message.req_id === undefined)
      return this.#request(entry.asRequest, message, req_id, bytesIn, now);
    if (entry?.kind === "ask" || entry?.kind === "error") {
      const taken = this.#port.answerAsk(message, entry.kind === "ask" ? entry.call : undefined);
      if (taken instanceof A2EError) return this.refuse(taken, message.type, req_id, bytesIn, now);
      const { name } = entry.kind === "ask" ? entry.capability : core;
      if (taken) return this.#audit.handled(now, { type: message.type, capability: name, id: message.id, bytesIn });
    }
    if (entry?.kind === "shutdown") return this.#shutdown(message, req_id, bytesIn, now);
    // A foreign type may be of any length; naming it helps only while it is readable.
    const name = message.type.length <= 128 ? ` "${message.type}"` : "";
    const problem =
      entry === undefined
        ? refusal("unknown_type", `no capability of this host has a message${name}`)
        : refusal("invalid_message", `a host does not take${name}: it sends it`);
    this.refuse(problem, message.type, req_id, bytesIn, now);
  }

  #request(entry: RequestEntry, message: Message, req_id: string | undefined, bytesIn: number, now: number): void {
    const version = message.version ?? message.a2e;
    // The handshake has an answer of its own to a wrong version.
    if (version !== protocolVersion && entry.call !== handshake && !isCompatibleVersion(version)) {
      const mismatch = refusal("version_mismatch", `this host speaks ${protocolVersion}`, {
        detail: { supported: protocolVersion },
      });
      return this.refuse(mismatch, message.type, req_id, bytesIn, now);
    }
    if (req_id !== undefined && this.calls.repeat(req_id)) return;
    const barred = this.#port.refuse(entry, false);
    if (barred !== undefined) return this.refuse(barred, message.type, req_id, bytesIn, now);
    const request = entry.call.parseRequest(message, entry.capability.name);
    if (request instanceof A2EError) return this.refuse(request, message.type, req_id, bytesIn, now);
    const overload = this.calls.start(entry, message.id, request, bytesIn, now);
    if (overload !== undefined) this.refuse(overload, message.type, req_id, bytesIn, now);
  }

  #shutdown(message: Message, req_id: string | undefined, bytesIn: number, now: number): void {
    const parsed = shutdownPayload.safeParse(message);
    if (!parsed.success) {
      const detail = { issues: [{ path: "timeout", message: "expected seconds" }] };
      return this.refuse(
        refusal("schema_violation", "timeout: expected seconds", { detail }),
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
  refuse(error: A2EError, type: string, req_id: string | undefined, bytesIn: number, now: number): void {
    const sent = this.#port.send(toErrorMessage(this.#port.sources, error, req_id));
    const about = { type, capability: error.capability_name, id: req_id ?? "", bytesIn };
    this.#audit.refused(now, about, error.code, sent);
  }
}
