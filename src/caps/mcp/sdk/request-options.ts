import type { Caller } from "../server/bridged-server.ts";
import type { ServerConfig } from "../server-config.ts";

/** Agents ask when they want to know: what the server said before is not what they asked for. */
export function requestOptions({ signal }: Caller, { timeoutMs }: ServerConfig) {
  return { cacheMode: "refresh", timeout: timeoutMs, ...(signal === undefined ? {} : { signal }) } as const;
}
