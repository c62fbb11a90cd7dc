// A shelf that all sessions share, as one of them sees it: nothing of it is the session's, so all of it is outside. Of what is
// recorded of it, a replay has what there was and what came of changes, and has no such shelf.
import type { SessionContext } from "../../../host/plugin.ts";
import type { ToolkitRecord } from "./toolkit-record.ts";
import type { ToolkitShelf } from "./toolkit-shelf.ts";

/** What a session does with a shelf. */
export type SessionShelf = Pick<ToolkitShelf, "names" | "get" | "takenCount" | "install" | "configure" | "uninstall">;

export function seenFromSession(shelf: ToolkitShelf, outside: SessionContext["outside"]): SessionShelf {
  return {
    get names() {
      return outside(() => shelf.names);
    },
    get takenCount() {
      return outside(() => shelf.takenCount);
    },
    get: (name) => outside(() => withoutSealed(shelf.get(name))),
    install: (name, toolkit) => outside(() => withoutSealed(shelf.install(name, toolkit))),
    configure: (...given) => outside(() => shelf.configure(...given).then(withoutSealed)),
    uninstall: (name) => outside(() => shelf.uninstall(name)),
  };
}

/** Secrets are of no use to a session, not even sealed. */
function withoutSealed<Found extends ToolkitRecord | undefined>(record: Found): Found {
  return record === undefined ? record : { ...record, sealed: "" };
}
