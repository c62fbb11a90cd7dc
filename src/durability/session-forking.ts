// A session with a copy of everything in another one, and what it did there taken over on purpose.

import type { SessionInfo } from "../host/call-context.ts";
import type { SessionOrigin } from "../host/session/session-origin.ts";
import type { Forking, SessionParts } from "../host/session/session-parts.ts";
import type { ResultInputOf } from "../protocol/capability.ts";
import type { merge } from "../protocol/core.ts";
import type { Dialect } from "../protocol/dialects.ts";
import { A2EError } from "../protocol/errors.ts";
import type { Sources, Tape } from "../recording/tape.ts";
import type { JournalEntry } from "./journal/session-journal.ts";

/** What forking needs of a session. */
export interface ForkingPort {
  readonly id: string;
  readonly info: Required<SessionInfo>;
  readonly dialect: Dialect;
  readonly parent: string | undefined;
  readonly parts: SessionParts;
  readonly sources: Sources;
  readonly tape: Tape | undefined;
}

/** Other sessions, as far as one of them needs its neighbours for this. */
export interface ForkHolder<Fork extends ForkingPort> {
  get(sessionId: string): Fork | undefined;
  /** Throws where there is no room for a fork. */
  createId(): string;
  fork(sessionId: string, origin: SessionOrigin): Fork;
}

/** Costs what changed since the last fork, not what there is. */
export async function forkSession<Fork extends ForkingPort>(
  { id: parent, info, dialect, parts, sources, tape }: ForkingPort,
  journal: JournalEntry | undefined,
  holder: ForkHolder<Fork> | undefined,
): Promise<{ session: Fork; capabilities: Record<string, Forking> }> {
  if (holder === undefined) throw new A2EError("runtime_error", "this session stands alone", { retryable: false });
  await parts.saveOwn();
  // From here on without waiting, so that the fork is of one moment, here as in the journal.
  const { states, capabilities } = parts.fork();
  const layers = journal?.splitLayer();
  const granted = new Set([...info.granted].filter((name) => capabilities[name] !== "refused"));
  const createId = () => holder.createId();
  const session = holder.fork(tape === undefined ? createId() : tape.value("session", createId), {
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

/** Takes over what a fork of this session changed. */
export async function mergeFork(
  { id, parts, tape }: ForkingPort,
  fork: ForkingPort | undefined,
): Promise<ResultInputOf<typeof merge>["capabilities"]> {
  if (fork?.parent !== id) throw new A2EError("runtime_error", "that is no fork of this session", { retryable: false });
  // What was done in the fork is no part of this session's recording, and in a replay nobody does it.
  if (tape !== undefined) fork.parts.adopt(tape.value("fork", () => fork.parts.changes()));
  return parts.merge(fork.parts);
}
