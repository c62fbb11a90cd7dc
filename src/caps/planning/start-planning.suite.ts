// A host with the planning plugin only, for the tests of this folder.
import { core } from "../../protocol/core.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { startHost } from "../../testing/start-host.ts";
import type { PlanningOptions } from "./options.ts";
import { planningPlugin } from "./plugin.ts";

export async function startPlanning(options: PlanningOptions = {}, path = ":memory:") {
  const clock = createFakeClock();
  const database = await createSqliteDatabase({ path, durability: "process" });
  const host = await startHost({ plugins: [planningPlugin(options)], database, clock, client: { agentId: "lead" } });
  return {
    ...host,
    clock,
    database,
    lead: host.client.planning,
    /** Another agent, or another session of the same agent. */
    async agent(agentId: string) {
      const client = await host.connect({ agentId });
      return { client, api: client.planning };
    },
    /** A fork of the first session, or of the session of another client. */
    async fork(of = host.client, agentId = "lead") {
      const { session_id } = await of.use(core).fork();
      const client = await host.connect({ sessionId: session_id, agentId });
      return { client, api: client.planning, session_id };
    },
    async merge(session_id: string, into = host.client) {
      const { capabilities } = await into.use(core).merge({ session_id });
      return capabilities.planning ?? { merged: 0, conflicts: [] };
    },
  };
}

export type PlanningHost = Awaited<ReturnType<typeof startPlanning>>;
export type PlanningApi = PlanningHost["lead"];
