// The planning capability for several workers: ready tasks, claims, and notifications of changes.
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../../protocol/envelope.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import { sharedHost } from "../../link.ts";
import type { Peer } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { createPlan, openPlan } from "./opened-plan.ts";

const common = { needs: { capability: "planning" }, level: "extension" } as const;

async function readyTitles(peer: Peer, plan_id: string, fields: object = {}): Promise<unknown[]> {
  const answer = await peer.request("planning/task/ready", { plan_id, ...fields });
  const { tasks } = checkType(answer, "planning/task/ready/resp");
  return asArray(tasks, "tasks").map((task) => asObject(task, "tasks[]").title);
}

export const claims: readonly Requirement[] = [
  {
    ...common,
    id: "PLAN-21",
    title: "ready are open tasks whose dependencies are all done, the most urgent first",
    source: "extension: planning/task/ready",
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      const first = await open.add("first");
      await open.add("after", { deps: [first] });
      await open.add("urgent", { priority: 0 });
      checkEqual(await readyTitles(peer, open.id), ["urgent", "first"], "ready at first");
      await open.update(first, { status: "done" });
      checkEqual(await readyTitles(peer, open.id), ["urgent", "after"], "ready afterwards");
    },
  },
  {
    ...common,
    id: "PLAN-22",
    title: "a task is claimed, renewed and released, and is not ready for others meanwhile",
    source: "extension: planning/task/claim, renew, release",
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      const task_id = await open.add("a");
      const claim = checkType(
        await peer.request("planning/task/claim", { task_id, lease_seconds: 60 }),
        "planning/task/claim/resp",
      );
      check(Number(claim.expires_at) * 1000 > Date.now(), `expires_at: ${claim.expires_at}`);
      checkEqual(asObject(asObject(claim.task, "task").claim, "claim").by, "conformance", "claimed by");
      checkEqual(await readyTitles(peer, open.id), [], "ready");
      checkEqual(await readyTitles(peer, open.id, { include_claimed: true }), ["a"], "ready with claimed ones");
      checkError(await peer.request("planning/task/claim", { task_id }), "claim_conflict");
      const { token } = claim;
      const renewed = await peer.request("planning/task/renew", { task_id, token, lease_seconds: 600 });
      checkType(renewed, "planning/task/renew/resp");
      check(Number(renewed.expires_at) > Number(claim.expires_at), "the claim should last longer");
      checkType(await peer.request("planning/task/release", { task_id, token }), "planning/task/release/resp");
      for (const type of ["planning/task/renew", "planning/task/release"])
        checkError(await peer.request(type, { task_id, token }), "claim_lost");
      checkEqual(await readyTitles(peer, open.id), ["a"], "ready after the release");
    },
  },
  {
    ...common,
    id: "PLAN-23",
    title: "a task that waits for others, or is done, is not given away: task_not_ready",
    source: "extension: planning/task/claim",
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      const first = await open.add("first");
      const task_id = await open.add("after", { deps: [first] });
      const error = checkError(await peer.request("planning/task/claim", { task_id }), "task_not_ready");
      checkEqual(asObject(error.detail, "detail").waiting_for, [first], "detail.waiting_for");
      await open.update(first, { status: "done" });
      checkError(await peer.request("planning/task/claim", { task_id: first }), "task_not_ready");
      checkType(await peer.request("planning/task/claim", { plan_id: open.id }), "planning/task/claim/resp");
      checkError(await peer.request("planning/task/claim", { plan_id: open.id }), "task_not_ready");
    },
  },
  {
    ...common,
    id: "PLAN-24",
    title: "of sessions that claim at the same time, one gets the task and each of the others claim_conflict",
    source: "extension: planning/task/claim",
    transports: sharedHost,
    async run({ agent, connectAs }) {
      const owner = await agent();
      const open = await createPlan(owner, { shared: true });
      const task_id = await open.add("a");
      const workers = [owner, await connectAs("conformance"), await connectAs("another agent")];
      const answers = await Promise.all(workers.map((peer) => peer.request("planning/task/claim", { task_id })));
      const won = answers.filter(({ type }) => type === "planning/task/claim/resp");
      checkEqual(won.length, 1, "number of those who got it");
      for (const answer of answers) if (!won.includes(answer)) checkError(answer, "claim_conflict");
      for (const [at, peer] of workers.entries()) {
        const update = await openPlan(peer, open.id).update(task_id, { description: `by ${at}` });
        if (answers[at] === won[0]) checkType(update, "planning/task/update/resp");
        else checkError(update, "claim_conflict");
      }
    },
  },
  {
    ...common,
    id: "PLAN-25",
    title: "workers that each take the first ready task never take the same task",
    source: "extension: planning/task/claim",
    transports: sharedHost,
    async run({ agent, connectAs }) {
      const owner = await agent();
      const open = await createPlan(owner, { shared: true });
      for (let count = 0; count < 6; count++) await open.add(`task ${count}`);
      const workers = [owner, await connectAs("another agent"), await connectAs("a third agent")];
      const answers = await Promise.all(
        workers.flatMap((peer) => [1, 2, 3].map(() => peer.request("planning/task/claim", { plan_id: open.id }))),
      );
      const taken = answers.flatMap(({ type, task_id }) => (type === "planning/task/claim/resp" ? [task_id] : []));
      checkEqual([taken.length, new Set(taken).size], [6, 6], "tasks given away, and different ones");
    },
  },
  {
    ...common,
    id: "PLAN-26",
    title: "a claim ends with its lease: the task is ready again, and its old token is no longer valid",
    source: "extension: lease_seconds",
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      const task_id = await open.add("a");
      const { token } = await peer.request("planning/task/claim", { task_id, lease_seconds: 0.1 });
      await sleep(300);
      checkEqual(await readyTitles(peer, open.id), ["a"], "ready after the lease");
      checkError(await peer.request("planning/task/renew", { task_id, token }), "claim_lost");
      checkType(await peer.request("planning/task/claim", { task_id }), "planning/task/claim/resp");
    },
  },
  {
    ...common,
    id: "PLAN-27",
    title: "an update at another version than if_version is refused with task_changed and the version now",
    source: "extension: if_version",
    async run({ agent }) {
      const open = await createPlan(await agent());
      const task_id = await open.add("a");
      checkType(await open.update(task_id, { title: "b", if_version: 1 }), "planning/task/update/resp");
      const error = checkError(await open.update(task_id, { title: "c", if_version: 1 }), "task_changed");
      checkEqual(asObject(error.detail, "detail").version, 2, "detail.version");
      checkEqual((await open.tasks())[0]?.title, "b", "title");
    },
  },
  {
    ...common,
    id: "PLAN-28",
    title: "the history of a task lists who changed which field, newest first",
    source: "extension: planning/task/history",
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      const task_id = await open.add("a");
      await open.update(task_id, { status: "todo" });
      const answer = await peer.request("planning/task/history", { task_id });
      const changes = asArray(checkType(answer, "planning/task/history/resp").changes, "changes");
      const [latest, first] = changes.map((change) => asObject(change, "changes[]"));
      checkEqual([latest?.kind, latest?.by, first?.kind], ["task_updated", "conformance", "task_added"], "changes");
      checkEqual(latest?.changes, [{ field: "status", from: "backlog", to: "todo" }], "changed fields");
    },
  },
  {
    ...common,
    id: "PLAN-29",
    title: "a session that watches a plan receives the changes of others until it stops watching",
    source: "extension: planning/plan/watch, planning/changed",
    transports: sharedHost,
    async run({ agent, connectAs }) {
      const owner = await agent();
      const open = await createPlan(owner, { shared: true });
      const watcher = await connectAs("another agent");
      const watch = async (isWatching: boolean): Promise<Message> =>
        checkType(
          await watcher.request("planning/plan/watch", { plan_id: open.id, watch: isWatching }),
          "planning/plan/watch/resp",
        );
      checkEqual((await watch(true)).watching, [open.id], "watching");
      const task_id = await open.add("a");
      const told = await watcher.find(({ type }) => type === "planning/changed", "planning/changed");
      checkEqual(
        [told.plan_id, told.task_id, told.kind, told.by],
        [open.id, task_id, "task_added", "conformance"],
        "change",
      );
      checkEqual((await watch(false)).watching, [], "watching no more");
      await open.update(task_id, { status: "done" });
      await watcher.exchange();
      checkEqual(watcher.received.filter(({ type }) => type === "planning/changed").length, 1, "number of pushes");
    },
  },
];
