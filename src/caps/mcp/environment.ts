// The environment that all servers of a bridge share.

import type { OrphanGuard } from "../../machinery/processes/orphan-guard.ts";
import type { Logger } from "../../plugin/logger.ts";
import type { Clock } from "../../protocol/envelope.ts";
import type { ParsedMcpOptions } from "./options.ts";

export interface BridgeEnvironment {
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: ParsedMcpOptions;
  readonly guard: OrphanGuard;
  /** True in a replay: then the bridge connects to no server. */
  readonly isReplay: boolean;
  /** Shared by all servers: a token refresh of one server may be the one that another waits for. */
  readonly fetch: typeof fetch;
}
