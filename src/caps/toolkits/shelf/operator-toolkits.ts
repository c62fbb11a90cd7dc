// The toolkits that the config of the operator sets up for all sessions.
import type { Logger } from "../../../plugin/logger.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Toolkit } from "../define-toolkit.ts";
import type { ParsedToolkitsOptions } from "../options.ts";
import type { ToolkitShelf } from "./toolkit-shelf.ts";

interface Wanted {
  readonly instance: string;
  readonly toolkit: Toolkit;
  readonly config: JsonObject;
}

/**
 * Rejects if a config is invalid, which stops the start of the host. A toolkit that cannot start, for example since its
 * server is down, does not: it is tried again until the returned function is called.
 */
export async function startOperatorToolkits(
  shelf: ToolkitShelf,
  { shared, shared_retry_ms }: ParsedToolkitsOptions,
  known: ReadonlyMap<string, Toolkit>,
  log: Logger,
): Promise<() => void> {
  const wanted = Object.entries(shared).map(([instance, { toolkit: name = instance, config }]): Wanted => {
    const toolkit = known.get(name);
    if (toolkit !== undefined) return { instance, toolkit, config };
    throw new Error(`shared.${instance}: there is no toolkit "${name}"; this host has ${[...known.keys()].join(", ")}`);
  });
  /** Starts toolkits and returns those that could not start. */
  const start = async (given: readonly Wanted[], tell: (instance: string, error: string) => void) => {
    const isAway = async ({ instance, toolkit, config }: Wanted) => {
      const { error } = await shelf.configure(instance, toolkit, config);
      tell(instance, error);
      return error !== "";
    };
    const outcomes = await Promise.all(given.map(isAway));
    return given.filter((_one, index) => outcomes[index]);
  };
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const retryLater = (away: readonly Wanted[]) => {
    if (away.length === 0 || isClosed) return;
    const retry = async () => {
      const left = await start(away, (toolkit, error) => {
        if (error === "") log.info("a shared toolkit has started after a retry", { toolkit });
      }).catch(() => away);
      retryLater(left);
    };
    timer = setTimeout(() => void retry(), shared_retry_ms);
    timer.unref();
  };
  const away = await start(wanted, (toolkit, reason) => {
    if (reason !== "") log.error("a shared toolkit failed to start", { toolkit, reason });
  });
  retryLater(away);
  return () => {
    isClosed = true;
    clearTimeout(timer);
  };
}
