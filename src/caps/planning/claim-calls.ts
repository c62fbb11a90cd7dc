// Claims: leases on ready tasks. The host has one thread and each request is one write, so if two sessions claim the
// same task, the first gets it.
import type { RequestOf } from "../../protocol/table/capability.ts";
import type { Desk } from "./desk.ts";
import { type Claim, liveClaim, type Plan, type Task } from "./model.ts";
import { alreadyDone, claimConflict, claimLost, nothingReady, notReady } from "./problems.ts";
import type { planning } from "./protocol.ts";
import { isDone } from "./storage/columns.ts";

type Calls = (typeof planning)["calls"];

export function readyTasks(desk: Desk, request: RequestOf<Calls["ready"]>): Task[] {
  const { space, tables, now } = desk;
  const freeAt = request.include_claimed ? Number.MAX_VALUE : now;
  return tables.readyTasks(space.choose(request.plan_id), freeAt, request.limit);
}

export function claimTask(desk: Desk, request: RequestOf<Calls["claim"]>): { task: Task; claim: Claim } {
  const { space, tables, now } = desk;
  const task_id = request.task_id === "" ? firstReady(desk, request.plan_id) : request.task_id;
  const { plan, task } = space.ownTask(task_id, request.plan_id);
  const held = liveClaim(task, now);
  if (held !== undefined) throw claimConflict(task, held, now);
  refuseUnlessReady(desk, plan, task);
  const { owner, worker, name } = space.viewer;
  const claim = { token: desk.nextId(), owner, worker, by: name, expires_at: endOfLease(desk, request.lease_seconds) };
  const claimed = { ...task, claim };
  tables.writeTask(claimed);
  desk.noteTask(plan, claimed, "task_claimed");
  return { task: claimed, claim };
}

function firstReady({ space, tables, now }: Desk, plan_id: string): string {
  const [first] = tables.readyTasks(space.choose(plan_id), now, 1);
  if (first === undefined) throw nothingReady();
  return first.task_id;
}

function refuseUnlessReady({ tables }: Desk, plan: Plan, task: Task): void {
  if (isDone(plan.columns, task.status)) throw alreadyDone(task.task_id);
  const waiting = task.deps.filter((id) => {
    const needed = tables.task(plan, id);
    return needed !== undefined && !isDone(plan.columns, needed.status);
  });
  if (waiting.length > 0) throw notReady(task.task_id, waiting);
}

export function renewClaim(desk: Desk, { task_id, token, lease_seconds }: RequestOf<Calls["renew"]>): Claim {
  const { task } = desk.space.ownTask(task_id);
  const held = heldClaim(desk, task, token);
  const claim = { ...held, expires_at: endOfLease(desk, lease_seconds) };
  desk.tables.writeTask({ ...task, claim });
  return claim;
}

export function releaseClaim(desk: Desk, { task_id, token }: RequestOf<Calls["release"]>): void {
  const { plan, task } = desk.space.ownTask(task_id);
  heldClaim(desk, task, token);
  const released = { ...task, claim: undefined };
  desk.tables.writeTask(released);
  desk.noteTask(plan, released, "task_released");
}

/**
 * A claimed task can be changed only by the holder of the claim. A token whose claim has ended is rejected even if the
 * task is free.
 */
export function refuseIfClaimed({ space, now }: Desk, task: Task, token: string): void {
  const claim = liveClaim(task, now);
  if (claim === undefined && token !== "") throw claimLost(task.task_id);
  if (claim !== undefined && !isHolder(space.viewer, claim, token)) throw claimConflict(task, claim, now);
}

function heldClaim({ space, now }: Desk, task: Task, token: string): Claim {
  const claim = liveClaim(task, now);
  if (claim === undefined || !isHolder(space.viewer, claim, token)) throw claimLost(task.task_id);
  return claim;
}

function isHolder({ owner, worker }: { owner: string; worker: string }, claim: Claim, token: string): boolean {
  return owner === claim.owner && (token === "" ? worker === claim.worker : token === claim.token);
}

function endOfLease({ options, now }: Desk, seconds: number): number {
  return now + Math.min(seconds === 0 ? options.lease_seconds : seconds, options.max_lease_seconds) * 1000;
}
