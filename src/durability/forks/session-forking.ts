// A fork is a session that begins with a copy of everything in another one. A merge applies what the fork changed to its parent.
import type { SessionInfo } from "../../host/call-context.ts";
import type { Forking } from "../../host/plugin.ts";
import type { SessionOrigin } from "../../host/session/session-origin.ts";
import type { SessionParts } from "../../host/session/session-parts.ts";
import type { Sources } from "../../host/sources.ts";
import type { ResultInputOf } from "../../protocol/capability.ts";
import type { merge } from "../../protocol/core.ts";
import type { Dialect } from "../../protocol/dialects.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JournalEntry } from "../journal/session-journal.ts";
import { forkStates, mergeStates } from "./forked-states.ts";

/** What forking and merging need of a session. */
export interface ForkingPort {
  readonly id: string;
  readonly info: Required<SessionInfo>;
  readonly dialect: Dialect;
  readonly parent: string | undefined;
  readonly parts: SessionParts;
  readonly sources: Sources;
}

/** The other sessions of the host. */
export interface ForkHolder<Fork extends ForkingPort> {
  get(sessionId: string): Fork | undefined;
  /** An id for a fork. Throws if the host has no room for another session. */
  createId(): string;
  fork(sessionId: string, origin: SessionOrigin): Fork;
}

/** The cost depends on what changed since the last fork, not on how much state the session has. */
export async function forkSession<Fork extends ForkingPort>(
  { id: parent, info, dialect, parts, sources }: ForkingPort,
  journal: JournalEntry | undefined,
  holder: ForkHolder<Fork> | undefined,
): Promise<{ session: Fork; capabilities: Record<string, Forking> }> {
  if (holder === undefined) throw new A2EError("runtime_error", "this session stands alone", { retryable: false });
  while (parts.opening !== undefined) await parts.opening;
  // No await from here on: states and journal are forked at the same moment.
  const { states, capabilities } = forkStates(parts.all, parts.states);
  const layers = journal?.splitLayer();
  const granted = new Set([...info.granted].filter((name) => capabilities[name] !== "refused"));
  const session = holder.fork(holder.createId(), {
    principal: info.principal,
    granted,
    dialect,
    createdAt: sources.clock.now(),
    states,
    parent,
    ...(layers === undefined ? {} : { stored: { layers, lines: [], lastSeq: 0, acknowledged: 0 } }),
  });
  return { session, capabilities };
}

/** Applies what a fork of this session changed, key by key. Keys that both have changed are returned as conflicts. */
export async function mergeFork(
  { id, parts }: ForkingPort,
  fork: ForkingPort | undefined,
): Promise<ResultInputOf<typeof merge>["capabilities"]> {
  if (fork?.parent !== id)
    throw new A2EError("runtime_error", "that is not a fork of this session", { retryable: false });
  const forks = fork.parts.states;
  let outcomes: ResultInputOf<typeof merge>["capabilities"] = {};
  await parts.reopenAfter(() => {
    const merging = mergeStates(parts.all, parts.states, forks);
    outcomes = merging.outcomes;
    return merging.changed.map((plugin) => ({ plugin }));
  });
  return outcomes;
}
