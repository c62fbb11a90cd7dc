// The sessions that a fork comes from: references to their large outputs came with the conversation, and stay good.
import { localPrefix, type SessionState } from "../../host/session/session-state.ts";
import { chainLimits } from "./limits.ts";

/** Not merged: where a fork comes from is its own. */
const key = `${localPrefix}ancestors`;

/** The nearest first. */
export function ancestorsOf(state: SessionState): readonly string[] {
  return (state.get(key) ?? []) as readonly string[];
}

export function addAncestor(state: SessionState, sessionId: string): void {
  state.set(key, [sessionId, ...ancestorsOf(state)].slice(0, chainLimits.maxAncestors));
}
