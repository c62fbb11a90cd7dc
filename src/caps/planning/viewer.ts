// The identity of a session for planning, stored in the session's state. It is read on each use, since the host may
// replace the state.

import type { SessionContext } from "../../plugin/plugin.ts";
import { ownerOf } from "../../plugin/principal.ts";
import { localPrefix, type SessionState } from "../../plugin/session-state.ts";
import { ground } from "./model.ts";

export interface Viewer {
  /** The owner of the private plans that the session sees. */
  readonly owner: string;
  /** The name that other agents see. */
  readonly name: string;
  /** The session that makes claims: two sessions of one agent are two workers. */
  readonly worker: string;
  /** The overlays to search for plans, nearest first. Writes go to the first. */
  readonly overlays: readonly string[];
  /** The overlays that this session wrote itself; empty unless it is a fork. */
  readonly own: readonly string[];
}

/** The overlays in the database. An overlay with rows that another overlay is based on is frozen. */
export interface OverlayTable {
  isEmpty(overlay: string): boolean;
  isFrozen(overlay: string): boolean;
  freeze(overlay: string): void;
}

const workerKey = "worker";

type ViewerContext = Pick<SessionContext, "session" | "state" | "nextId">;

export function viewerOf({ session, state, nextId }: ViewerContext, table: OverlayTable): Viewer {
  const worker = lasting(state, workerKey, nextId);
  const owner = ownerOf(session.principal);
  const { own, below } = writableOverlays(state, nextId, table);
  return {
    owner: planOwner(owner, worker),
    name: owner,
    worker,
    overlays: [...own, ...below, ground],
    own,
  };
}

/** Agents without a name are different agents, so each of their sessions is an owner of its own. */
function planOwner(agentId: string, worker: string): string {
  return agentId === "" ? `session:${worker}` : `agent:${agentId}`;
}

/**
 * The names that must be protected from collection while the session is open: its overlays, and its owner if its agent
 * has no name.
 */
export function namesOf({ session, state }: Pick<ViewerContext, "session" | "state">): string[] {
  const { own, below } = readOverlays(state);
  const worker = state.get(workerKey);
  const isNameless = ownerOf(session.principal) === "" && typeof worker === "string";
  return [...own, ...below, ...(isNameless ? [planOwner("", worker)] : [])];
}

function lasting(state: SessionState, key: string, nextId: () => string): string {
  const known = state.get(key);
  if (typeof known === "string") return known;
  const made = nextId();
  state.set(key, made);
  return made;
}

/** The overlays of a fork above the ground, nearest first: its own, and those of its ancestors. */
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

/** If the top overlay was frozen, the session continues in a new overlay above it. */
function writableOverlays(state: SessionState, nextId: () => string, table: OverlayTable): ForkOverlays {
  const overlays = readOverlays(state);
  const [top] = overlays.own;
  if (top === undefined || !table.isFrozen(top)) return overlays;
  const raised = { own: [nextId(), ...overlays.own], below: overlays.below };
  writeOverlays(state, raised);
  return raised;
}

/**
 * Gives a fork its own overlay above those of its parent. If the parent has written to an overlay, that overlay is
 * frozen and both continue above it, so neither sees later changes of the other. The ground cannot be frozen, since
 * other agents write to it. Must run within `database.write`.
 */
export function forkAbove(
  session: SessionState,
  forked: SessionState,
  nextId: () => string,
  table: OverlayTable,
): void {
  // A fork acts as the same agent, even if its parent has not used planning yet.
  if (forked.get(workerKey) === undefined) forked.set(workerKey, lasting(session, workerKey, nextId));
  const { own, below } = readOverlays(session);
  const [top, ...lower] = own;
  const isEmpty = top !== undefined && table.isEmpty(top);
  if (top !== undefined && !isEmpty) table.freeze(top);
  writeOverlays(forked, { own: [nextId()], below: [...(isEmpty ? lower : own), ...below] });
}
