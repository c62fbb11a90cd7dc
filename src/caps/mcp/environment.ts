// What all servers of a bridge share.
import type { Logger } from "../../host/logger.ts";
import type { OrphanGuard } from "../../machinery/processes/orphan-guard.ts";
import type { Clock } from "../../protocol/envelope.ts";
import type { ParsedMcpOptions } from "./options.ts";

export interface BridgeEnvironment {
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: ParsedMcpOptions;
  readonly guard: OrphanGuard;
  /** No server is connected to. */
  readonly isReplay: boolean;
  /** For all servers alike: what is under way for one may be what another waits for. */
  readonly fetch: typeof fetch;
}
