// What goes wrong with one server, as callers and the log are told of it: without its secrets, and not at any length.
import type { Logger } from "../../../host/logger.ts";
import { cut } from "../problems.ts";
import { createRedaction, type Redaction } from "../redaction.ts";
import type { Sdk } from "../sdk.ts";
import { type ServerFault, toServerFault } from "../sdk-errors.ts";
import type { ServerConfig } from "../server-config.ts";

const maxErrorLength = 1000;

export class Faults {
  readonly redact: Redaction;
  readonly #config: ServerConfig;
  readonly #log: Logger;
  /** Not there before the first connection, when nothing of it can have gone wrong. */
  sdk: Sdk | undefined;

  constructor(config: ServerConfig, log: Logger) {
    this.redact = createRedaction(config);
    this.#config = config;
    this.#log = log;
  }

  judge(cause: unknown): ServerFault & { reason: string } {
    if (this.sdk === undefined) throw cause;
    const { id, endpoint } = this.#config;
    const isRemote = endpoint.transport !== "stdio";
    const fault = toServerFault(cause, { sdk: this.sdk, serverId: id, isRemote, redact: this.redact });
    return { ...fault, reason: cut(fault.error.message, maxErrorLength) };
  }

  /** True where a failure is something that the server said. */
  isAnswer(cause: unknown): boolean {
    return this.sdk?.ProtocolError.isInstance(cause) === true;
  }

  report(what: string, error: Error): void {
    this.#log.warn(what, { server: this.#config.id, error: cut(this.redact(error.message), maxErrorLength) });
  }
}
