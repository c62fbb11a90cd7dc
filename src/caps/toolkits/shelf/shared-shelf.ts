// A shared shelf as one session sees it. The shelf is not part of the session, so every access goes through `outside`:
// a recording has the results, and a replay needs no such shelf.
import type { SessionContext } from "../../../plugin/plugin.ts";
import type { ToolkitRecord } from "./toolkit-record.ts";
import type { ToolkitShelf } from "./toolkit-shelf.ts";

/** The members of a shelf that a session uses. */
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

/** A session does not need secrets, not even sealed ones. */
function withoutSealed<Found extends ToolkitRecord | undefined>(record: Found): Found {
  return record === undefined ? record : { ...record, sealed: "" };
}
