import type { Caller } from "./server/bridged-server.ts";

/** Agents ask when they want to know: what the server said before is not what they asked for. */
export function requestOptions({ signal }: Caller) {
  return { cacheMode: "refresh", ...(signal === undefined ? {} : { signal }) } as const;
}
