import type { Journal } from "../../host/ports/journal.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import { JournalEntry, type JournalLimits } from "./journal-entry.ts";
import type { JournalStore } from "./journal-store.ts";

/** A journal on any store. The limits should be those of the host, so that both agree which lines can be replayed. */
export function createJournal(store: JournalStore, limits: JournalLimits = defaultLimits): Journal {
  return {
    open: (session, origin) => new JournalEntry(store, limits, session, origin),
    load: (sessionId) => store.load(sessionId),
    forgetOlderThan: (createdBefore, live) => store.forgetOlderThan(createdBefore, live),
    close: () => store.close(),
  };
}
