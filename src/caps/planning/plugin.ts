// The host side of the planning capability. Every request is handled in one turn, so its changes are committed together
// with its answer.

import { type RegularWork, startRegularWork } from "../../machinery/regular-work.ts";
import { type Plugin, type PluginContext, plugin, type SessionContext, type SessionPart } from "../../plugin/plugin.ts";
import type { Database } from "../../plugin/ports/database.ts";
import type { SessionState } from "../../plugin/session-state.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { claimTask, readyTasks, releaseClaim, renewClaim } from "./claim-calls.ts";
import { Desk } from "./desk.ts";
import { planningLimits } from "./limits.ts";
import { type MergeReport, mergePlans } from "./merge.ts";
import { type Claim, type Task, toTaskView } from "./model.ts";
import { type ParsedPlanningOptions, type PlanningOptions, parsePlanningOptions } from "./options.ts";
import { createPlan, deletePlan, listPlans, showBoards, updatePlan } from "./plan-calls.ts";
import { limitReached } from "./problems.ts";
import { planChanged, planning } from "./protocol.ts";
import { OverlayUse } from "./storage/overlay-use.ts";
import { PlanSpace } from "./storage/plan-space.ts";
import { openTables, type PlanningTables } from "./storage/tables.ts";
import { addTask, deleteTask, listTasks, updateTask } from "./task-calls.ts";
import { forkAbove, namesOf, viewerOf } from "./viewer.ts";
import { type Watcher, Watchers } from "./watchers.ts";

/** The part of this capability in one session. */
export interface PlanningPart extends SessionPart<typeof planning> {
  fork(forked: SessionState): void;
  /** Merges the plans of a fork. An item that both sessions changed stays as it is here and is reported. */
  merge(forked: SessionState): MergeReport;
}

export interface PlanningPlugin extends Plugin<typeof planning> {
  session(context: SessionContext): PlanningPart;
}

/** Called for `type: planning` in a config. */
export function createPlugin(options: JsonObject): PlanningPlugin {
  return createPlanningPlugin(parsePlanningOptions(options));
}

export function planningPlugin(options: PlanningOptions = {}): PlanningPlugin {
  return createPlanningPlugin(parsePlanningOptions(options));
}

/** Shared by all sessions of a host. */
interface Shared {
  readonly database: Database;
  readonly tables: PlanningTables;
  readonly watchers: Watchers;
  readonly use: OverlayUse;
  readonly options: ParsedPlanningOptions;
}

function createPlanningPlugin(options: ParsedPlanningOptions): PlanningPlugin {
  let shared: Shared | undefined;
  let collecting: RegularWork | undefined;
  const made = plugin(planning, {
    exclusive: options.exclusive,
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    forking: "overlaid",

    setup(context) {
      const { database, log } = context;
      const tables = openTables(database, { maxHistory: options.max_history });
      const use = new OverlayUse(database);
      shared = { database, tables, watchers: new Watchers(log), use, options };
      collecting = collectRegularly(use, options, context);
    },

    session(context) {
      if (shared === undefined) throw new Error("the planning plugin was not set up");
      return openPart(context, shared);
    },

    close: () => collecting?.close(),
  });
  return made as PlanningPlugin;
}

function collectRegularly(
  use: OverlayUse,
  { fork_idle_s }: ParsedPlanningOptions,
  { clock, database, log }: PluginContext,
): RegularWork {
  const { collectIntervalMs, transientForkIdleSeconds } = planningLimits;
  const idleMs = (database.isPersistent ? fork_idle_s : Math.min(fork_idle_s, transientForkIdleSeconds)) * 1000;
  return startRegularWork({
    work: () => use.collect(clock.now(), idleMs),
    everyMs: collectIntervalMs,
    onError: (error) => log.error("deleting plans of forks that are gone failed", { error }),
  });
}

function openPart(context: SessionContext, { database, tables, watchers, use, options }: Shared): PlanningPart {
  const { state, clock, nextId } = context;
  const openSpace = (of: SessionState = state) =>
    new PlanSpace(tables, viewerOf({ session: context.session, state: of, nextId }, tables));
  const openDesk = () => new Desk({ tables, space: openSpace(), options, now: clock.now(), nextId });

  const watcher: Watcher = {
    get watching() {
      return watchedPlans(state);
    },
    get space() {
      return openSpace();
    },
    tell: ({ plan: { plan_id }, task_id, record: { version: new_version, ...record } }) =>
      context.push(planChanged, { plan_id, task_id, new_version, ...record }),
  };

  const write = <Result>(work: (desk: Desk) => Result): Result => {
    const desk = openDesk();
    const result = database.write(() => work(desk));
    // After the commit: changes that were rolled back must not be announced.
    watchers.tell(desk.notes, watcher);
    return result;
  };
  const view = (task: Task) => toTaskView(task, clock.now());

  const stopWatching = watchers.add(watcher);
  const leave = use.enter(() => namesOf(context));
  return {
    handlers: {
      createPlan(request) {
        const plan = write((desk) => createPlan(desk, request));
        return { success: true, plan_id: plan.plan_id, columns: plan.columns, plan };
      },
      listPlans: (request) => listPlans(openDesk(), request),
      board: ({ plan_id }) => showBoards(openDesk(), plan_id),
      updatePlan(request) {
        const plan = write((desk) => updatePlan(desk, request));
        return { success: true, plan_id: plan.plan_id, plan };
      },
      deletePlan(request) {
        write((desk) => deletePlan(desk, request));
        return { success: true, plan_id: request.plan_id };
      },
      watchPlan({ plan_id, watch }) {
        if (watch && plan_id !== "") openSpace().plan(plan_id);
        const others = watchedPlans(state).filter((id) => id !== plan_id);
        const { maxWatched } = planningLimits;
        if (watch && others.length >= maxWatched) throw limitReached("maxWatched", maxWatched);
        const watching = watch ? [...others, plan_id] : others;
        state.set("watching", watching);
        return { success: true, watching };
      },
      addTask(request) {
        const task = write((desk) => addTask(desk, request));
        return { success: true, task_id: task.task_id, status: task.status, task: view(task) };
      },
      updateTask(request) {
        const task = write((desk) => updateTask(desk, request));
        return { success: true, task_id: task.task_id, task: view(task) };
      },
      listTasks(request) {
        const { tasks, total } = listTasks(openDesk(), request);
        return { tasks: tasks.map(view), total };
      },
      deleteTask(request) {
        write((desk) => deleteTask(desk, request));
        return { success: true, task_id: request.task_id };
      },
      ready: (request) => ({ tasks: readyTasks(openDesk(), request).map(view) }),
      claim(request) {
        const { task, claim } = write((desk) => claimTask(desk, request));
        return { ...toLease(task.task_id, claim), task: view(task) };
      },
      renew: (request) =>
        toLease(
          request.task_id,
          write((desk) => renewClaim(desk, request)),
        ),
      release(request) {
        write((desk) => releaseClaim(desk, request));
        return { success: true, task_id: request.task_id };
      },
      history({ task_id, limit }) {
        const { task } = openSpace().task(task_id);
        return { task_id, changes: tables.historyOf(task, limit) };
      },
    },

    resourceOf(kind, id) {
      if (kind !== "plan") return undefined;
      try {
        return openSpace().task(id).plan.plan_id;
      } catch {
        // A task that this session does not see.
        return undefined;
      }
    },

    fork(forked) {
      database.write(() => forkAbove(state, forked, nextId, tables));
    },

    merge(forked) {
      const fork = openSpace(forked);
      return write((desk) => mergePlans(desk, fork, database));
    },

    close() {
      stopWatching();
      leave();
    },
  };
}

function watchedPlans(state: SessionState): readonly string[] {
  const watching = state.get("watching");
  return Array.isArray(watching) ? (watching as string[]) : [];
}

function toLease(task_id: string, { token, expires_at }: Claim) {
  return { success: true, task_id, token, expires_at: expires_at / 1000 };
}
