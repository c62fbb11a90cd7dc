// What all servers of a bridge share.
import type { Logger } from "../../host/logger.ts";
import type { Clock } from "../../protocol/envelope.ts";
import type { ParsedMcpOptions } from "./options.ts";
import type { ProcessKeeper } from "./transports/process-keeper.ts";

export interface BridgeEnvironment {
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: ParsedMcpOptions;
  readonly keeper: ProcessKeeper;
  /** No server is connected to. */
  readonly isReplay: boolean;
  /** For all servers alike: what is under way for one may be what another waits for. */
  readonly fetch: typeof fetch;
}
