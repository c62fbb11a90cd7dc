// A fork is a session that begins with a copy of everything in another one. A merge applies what the fork changed to its parent.
import type { SessionInfo } from "../../host/call-context.ts";
import type { Forking } from "../../host/plugin.ts";
import type { SessionJournal, SessionOrigin } from "../../host/ports/journal.ts";
import type { SessionParts } from "../../host/session/session-parts.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";
import type { Sources } from "../../host/sources.ts";
import type { ResultInputOf } from "../../protocol/capability.ts";
import type { merge } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import { forkStates, mergeStates } from "./forked-states.ts";

/** What forking and merging need of a session. */
export interface ForkingPort {
  readonly id: string;
  readonly info: Required<SessionInfo>;
  readonly parent: string | undefined;
  readRecord(): SessionRecord;
  readonly parts: SessionParts;
  readonly sources: Sources;
}

/** The other sessions of the host. */
export interface ForkHolder<Fork extends ForkingPort> {
  /** A session that is live or in the journal. */
  find(sessionId: string): Fork | undefined | Promise<Fork | undefined>;
  /** An id for a fork, for which there is room until the end of this turn. Throws if the host has no room. */
  createId(): string;
  fork(sessionId: string, origin: SessionOrigin): Fork;
}

/** The cost depends on what changed since the last fork, not on how much state the session has. */
export async function forkSession<Fork extends ForkingPort>(
  session: ForkingPort,
  journal: SessionJournal | undefined,
  holder: ForkHolder<Fork> | undefined,
): Promise<{ session: Fork; capabilities: Record<string, Forking> }> {
  const { id, info, parts, sources } = session;
  if (holder === undefined) throw new A2EError("runtime_error", "this session stands alone", { retryable: false });
  while (parts.opening !== undefined) await parts.opening;
  // No await from here on: states and journal are forked at the same moment.
  const { states, capabilities } = forkStates(parts.all, parts.states);
  const granted = [...info.granted].filter((name) => capabilities[name] !== "refused");
  const fork = holder.fork(holder.createId(), {
    record: { ...session.readRecord(), granted, createdAt: sources.clock.now(), parent: id },
    states,
    lines: [],
    lastSeq: 0,
    acknowledged: 0,
    ...(journal === undefined ? undefined : { forkOf: journal }),
  });
  return { session: fork, capabilities };
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
