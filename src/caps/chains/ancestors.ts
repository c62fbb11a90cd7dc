// The sessions that a fork descends from: references to their large outputs in the conversation stay valid.
import { localPrefix, type SessionState } from "../../plugin/session-state.ts";
import { chainLimits } from "./limits.ts";

/** Local, so not merged: the ancestors of a fork are its own. */
const key = `${localPrefix}ancestors`;

/** Nearest ancestor first. */
export function ancestorsOf(state: SessionState): readonly string[] {
  return (state.get(key) ?? []) as readonly string[];
}

export function addAncestor(state: SessionState, sessionId: string): void {
  state.set(key, [sessionId, ...ancestorsOf(state)].slice(0, chainLimits.maxAncestors));
}
