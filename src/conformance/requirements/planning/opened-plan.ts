// A plan as the requirements about it use it.
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { asObjects, checkEqual, checkType } from "../../check.ts";
import type { Peer } from "../../peer.ts";

export interface OpenPlan {
  readonly id: string;
  /** Adds a task and returns its id. */
  add(title: string, fields?: object): Promise<string>;
  tryAdd(title: string, fields?: object): Promise<Message>;
  update(task_id: string, fields: object): Promise<Message>;
  tasks(fields?: object): Promise<JsonObject[]>;
}

export async function createPlan(peer: Peer, fields: object = {}): Promise<OpenPlan> {
  const created = checkType(await peer.request("planning/plan/create", fields), "planning/plan/create/resp");
  checkEqual(created.success, true, "success");
  return openPlan(peer, String(created.plan_id));
}

/** A plan that there is, as this session sees it. */
export function openPlan(peer: Peer, plan_id: string): OpenPlan {
  const tryAdd: OpenPlan["tryAdd"] = (title, fields = {}) =>
    peer.request("planning/task/add", { plan_id, title, ...fields });
  return {
    id: plan_id,
    tryAdd,
    async add(title, fields) {
      const answer = checkType(await tryAdd(title, fields), "planning/task/add/resp");
      checkEqual(answer.success, true, "success");
      return String(answer.task_id);
    },
    update: (task_id, fields) => peer.request("planning/task/update", { plan_id, task_id, ...fields }),
    async tasks(fields = {}) {
      const answer = await peer.request("planning/task/list", { plan_id, ...fields });
      return asObjects(checkType(answer, "planning/task/list/resp").tasks, "tasks");
    },
  };
}

export const titlesOf = (tasks: readonly JsonObject[]): unknown[] => tasks.map(({ title }) => title);
