// A fork is a session that begins with a copy of the state of another session. A merge applies its changes to the parent.

import type { KeptSession, OtherSessions } from "../../host/ports/session-keeping.ts";
import type { MergeResult } from "../../host/session/session-core.ts";
import type { Forking } from "../../plugin/plugin.ts";
import { A2EError } from "../../protocol/errors.ts";
import { forkStates, mergeStates } from "./forked-states.ts";

/** The cost depends on the changes since the last fork, not on the size of the state. */
export async function forkSession(
  session: KeptSession,
  sessions: OtherSessions,
): Promise<{ sessionId: string; capabilities: Record<string, Forking> }> {
  const { scope, parts } = session;
  while (parts.opening !== undefined) await parts.opening;
  // No await from here on: states and journal are forked at the same moment.
  const { states, capabilities } = forkStates(parts.all, parts.states);
  const granted = [...scope.info.granted].filter((name) => capabilities[name] !== "refused");
  const createdAt = scope.sources.clock.now();
  const record = { ...session.readRecord(), granted, createdAt, parent: scope.info.id };
  const sessionId = sessions.createId(scope.info.principal);
  sessions.fork(sessionId, session, record, states);
  return { sessionId, capabilities };
}

/** Applies the changes of a fork to this session. Keys that both have changed are returned as conflicts. */
export async function mergeFork({ scope, parts }: KeptSession, fork: KeptSession | undefined): Promise<MergeResult> {
  if (fork?.readRecord().parent !== scope.info.id)
    throw new A2EError("runtime_error", "that is not a fork of this session", { retryable: false });
  const forks = fork.parts.states;
  let outcomes: MergeResult = {};
  await parts.reopenAfter(() => {
    const merging = mergeStates(parts.all, parts.states, forks);
    outcomes = merging.outcomes;
    return merging.changed.map((plugin) => ({ plugin }));
  });
  return outcomes;
}
