// Saves, restores, forks and merges the sessions of a host. Passed to `A2EHost.start` as `keeping`.
import type { CreateKeeping } from "../host/ports/session-keeping.ts";
import { AutomaticSnapshots, SessionSaving } from "./snapshots/session-saving.ts";
import { SessionSnapshots } from "./snapshots/session-snapshots.ts";

export const keepSessions: CreateKeeping = (kernel, sessions) => {
  const stored = new SessionSnapshots(kernel.snapshots, kernel.snapshotMode);
  const automatic = new AutomaticSnapshots(kernel);
  return {
    open: (session, isKnown) => new SessionSaving({ kernel, sessions, automatic }, session, isKnown),
    stored: {
      load: (sessionId, snapshotId) => stored.load(sessionId, snapshotId, kernel.pluginNames),
      list: (sessionId) => stored.list(sessionId),
      forget: (sessionIds) => automatic.forget(sessionIds),
    },
    // All entries were created by `open`.
    saveDue: (entries, now) => automatic.saveDue(entries as Iterable<SessionSaving>, now),
    stop(drainMs) {
      automatic.beginDrain(drainMs);
      return () => automatic.settled();
    },
  };
};
