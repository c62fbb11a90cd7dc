// What all servers of a bridge share.
import type { Logger } from "../../host/logger.ts";
import type { Clock } from "../../protocol/envelope.ts";
import type { ParsedMcpOptions } from "./options.ts";
import type { ToolCache } from "./tool-cache.ts";
import type { ProcessKeeper } from "./transports/process-keeper.ts";

export interface BridgeEnvironment {
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: ParsedMcpOptions;
  readonly keeper: ProcessKeeper;
  readonly toolCache: ToolCache;
}
