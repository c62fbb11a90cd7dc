import type { Caller } from "../server/bridged-server.ts";
import type { ServerConfig } from "../server-config.ts";

/** "refresh": an agent's request is always sent to the server and never answered from the SDK's cache. */
export function requestOptions({ signal }: Caller, { timeoutMs }: ServerConfig) {
  return { cacheMode: "refresh", timeout: timeoutMs, ...(signal === undefined ? {} : { signal }) } as const;
}
