import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { watchResources } from "../../testing/leaks.ts";
import { startHost } from "../../testing/start-host.ts";
import { planningPlugin } from "./plugin.ts";
import { startPlanning } from "./start-planning.suite.ts";

const newPath = useTemporaryFolder();

test("plans, claims and history survive a restart of the host", async () => {
  const path = newPath();
  const first = await startPlanning({}, path);
  const { plan_id } = await first.lead.createPlan({ name: "lasting", columns: ["a, b", "done"], shared: true });
  const { task_id } = await first.lead.addTask({ plan_id, title: "task", metadata: { k: [1] } });
  const { token } = await first.lead.claim({ task_id });
  const before = { ...(await first.lead.listPlans()), ...(await first.lead.board()) };
  await first.close();

  await using second = await startPlanning({}, path);

  expect({ ...(await second.lead.listPlans()), ...(await second.lead.board()) }).toEqual(before);
  expect((await second.lead.history({ task_id })).changes).toHaveLength(2);
  const other = await second.agent("other");
  await expect(other.api.claim({ task_id })).rejects.toMatchObject({ code: "claim_conflict" });
  expect(await second.lead.renew({ task_id, token })).toMatchObject({ success: true });
});

test("a host without a database reports that at its start", async () => {
  await expect(startHost(planningPlugin())).rejects.toThrow("without a database");
});

test("closing a host with plans leaves no timer running", async () => {
  const watch = watchResources();
  const host = await startPlanning();
  await host.lead.createPlan();
  await host.lead.watchPlan();

  await host.close();

  await watch.expectNothingLeft();
});
