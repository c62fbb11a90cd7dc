// Who looks at plans, and from which session: all of it kept in the session's state, read anew whenever it is needed,
// since the host may put another state in its place.
import type { SessionContext } from "../../host/plugin.ts";
import { localPrefix, type SessionState } from "../../host/session/session-state.ts";
import { ground } from "./model.ts";

export interface Viewer {
  /** Whose private plans it sees. */
  readonly owner: string;
  /** As others read it. */
  readonly name: string;
  /** The session, for claims: two sessions of one agent are two workers. */
  readonly worker: string;
  /** Where plans are looked for, nearest first. Writes go to the first. */
  readonly overlays: readonly string[];
  /** Those of them that the session has written itself; none where it is no fork. */
  readonly own: readonly string[];
}

/** What is known of overlays: those written to on which others stand are frozen. */
export interface OverlayTable {
  isEmpty(overlay: string): boolean;
  isFrozen(overlay: string): boolean;
  freeze(overlay: string): void;
}

const workerKey = "worker";

type ViewerContext = Pick<SessionContext, "session" | "state" | "nextId">;

export function viewerOf({ session, state, nextId }: ViewerContext, table: OverlayTable): Viewer {
  const worker = lasting(state, workerKey, nextId);
  const { id } = session.principal;
  const { own, below } = writableOverlays(state, nextId, table);
  return {
    owner: ownerOf(id, worker),
    name: id,
    worker,
    overlays: [...own, ...below, ground],
    own,
  };
}

/** Agents without a name are not all one agent: each session of them keeps to itself. */
function ownerOf(agentId: string, worker: string): string {
  return agentId === "" ? `session:${worker}` : `agent:${agentId}`;
}

/** What the session stands for, and nobody else may: its overlays, and itself where its agent has no name. */
export function namesOf({ session, state }: Pick<ViewerContext, "session" | "state">): string[] {
  const { own, below } = readOverlays(state);
  const worker = state.get(workerKey);
  const isNameless = session.principal.id === "" && typeof worker === "string";
  return [...own, ...below, ...(isNameless ? [ownerOf("", worker)] : [])];
}

function lasting(state: SessionState, key: string, nextId: () => string): string {
  const known = state.get(key);
  if (typeof known === "string") return known;
  const made = nextId();
  state.set(key, made);
  return made;
}

/** Nearest first, above the ground: those of the fork itself, and those it was forked above. */
export interface ForkOverlays {
  readonly own: string[];
  readonly below: string[];
}

const overlaysKey = `${localPrefix}overlays`;

function readOverlays(state: SessionState): ForkOverlays {
  return (state.get(overlaysKey) as unknown as ForkOverlays | undefined) ?? { own: [], below: [] };
}

function writeOverlays(state: SessionState, { own, below }: ForkOverlays): void {
  if (own.length === 0) state.delete(overlaysKey);
  else state.set(overlaysKey, { own, below });
}

/** Where others stand on the top one by now, the session goes on in a new one above it. */
function writableOverlays(state: SessionState, nextId: () => string, table: OverlayTable): ForkOverlays {
  const overlays = readOverlays(state);
  const [top] = overlays.own;
  if (top === undefined || !table.isFrozen(top)) return overlays;
  const raised = { own: [nextId(), ...overlays.own], below: overlays.below };
  writeOverlays(state, raised);
  return raised;
}

/**
 * Gives a fork an overlay of its own above those of the session it comes from. What that one has written in an overlay
 * becomes common ground, so neither sees what the other does from now on. The ground itself cannot be frozen so, as
 * other agents stand on it. Writes.
 */
export function forkAbove(
  session: SessionState,
  forked: SessionState,
  nextId: () => string,
  table: OverlayTable,
): void {
  // A fork is the same agent, also where nothing was asked yet.
  if (forked.get(workerKey) === undefined) forked.set(workerKey, lasting(session, workerKey, nextId));
  const { own, below } = readOverlays(session);
  const [top, ...lower] = own;
  const isEmpty = top !== undefined && table.isEmpty(top);
  if (top !== undefined && !isEmpty) table.freeze(top);
  writeOverlays(forked, { own: [nextId()], below: [...(isEmpty ? lower : own), ...below] });
}
