// Decides which tools an agent may see and call.
import { createWildcard } from "../../protocol/wildcards/wildcard.ts";

/** True for names that match `allow` and not `deny`. Decisions are cached. */
export function createToolPolicy(allow: readonly string[], deny: readonly string[]): (name: string) => boolean {
  if (deny.length === 0 && allow.includes("*")) return () => true;
  const toMatcher = (pattern: string) => createWildcard(pattern, { questionMark: true, sets: true });
  const allowed = allow.map(toMatcher);
  const denied = deny.map(toMatcher);
  const decided = new Map<string, boolean>();
  return (name) => {
    let isAllowed = decided.get(name);
    if (isAllowed === undefined) {
      isAllowed = allowed.some((matches) => matches(name)) && !denied.some((matches) => matches(name));
      // Names come from agents too, which could send a new one each time.
      if (decided.size >= maxDecided) decided.clear();
      decided.set(name, isAllowed);
    }
    return isAllowed;
  };
}

const maxDecided = 10_000;
