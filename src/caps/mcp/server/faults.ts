// Failures of one server, for callers and for the log: with secrets redacted and the length limited.
import type { Logger } from "../../../plugin/logger.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { cut, transportError } from "../problems.ts";
import { createRedaction, type Redaction } from "../redaction.ts";
import type { Sdk } from "../sdk/sdk.ts";
import { type ServerFault, toServerFault } from "../sdk/sdk-errors.ts";
import type { ServerConfig } from "../server-config.ts";

const maxErrorLength = 1000;

export class Faults {
  readonly redact: Redaction;
  readonly #config: ServerConfig;
  readonly #log: Logger;
  /** Undefined before the first connection: loading the SDK may itself have failed or timed out. */
  sdk: Sdk | undefined;

  constructor(config: ServerConfig, log: Logger) {
    this.redact = createRedaction(config);
    this.#config = config;
    this.#log = log;
  }

  judge(cause: unknown): ServerFault & { reason: string } {
    const fault = this.#toFault(cause);
    return { ...fault, reason: cut(fault.error.message, maxErrorLength) };
  }

  /** True if the failure is an error answer of the server. */
  isAnswer(cause: unknown): boolean {
    return this.sdk?.ProtocolError.isInstance(cause) === true;
  }

  report(what: string, error: Error): void {
    this.#log.warn(what, { server: this.#config.id, error: cut(this.redact(error.message), maxErrorLength) });
  }

  #toFault(cause: unknown): ServerFault {
    const { id, endpoint } = this.#config;
    const isRemote = endpoint.transport !== "stdio";
    if (this.sdk !== undefined)
      return toServerFault(cause, { sdk: this.sdk, serverId: id, isRemote, redact: this.redact });
    const error = cause instanceof A2EError ? cause : transportError(id, this.redact(String(cause)));
    return { error, connection: "kept", isUnauthorized: false };
  }
}
