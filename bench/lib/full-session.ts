// A session that has something to lose: memory in all tiers and episodes under way.
import { envPlugin } from "../../src/caps/env/plugin.ts";
import { env } from "../../src/caps/env/protocol.ts";
import { memoryPlugin } from "../../src/caps/memory/plugin.ts";
import { memory } from "../../src/caps/memory/protocol.ts";
import { A2EClient } from "../../src/client/client.ts";
import type { A2EHost } from "../../src/host/host.ts";
import type { Session } from "../../src/host/session.ts";
import { createDirectTransport } from "../../src/transports/direct.ts";
import { startAuditedHost } from "../servers/audited-host.ts";
import { createCorpus } from "./corpus.ts";

/** In the working tier; a tenth as many lie in each of the persistent ones, where a fork copies nothing anyway. */
export const entryCount = 10_000;
export const episodeCount = 10;

export interface FullSession {
  readonly host: A2EHost;
  readonly api: A2EClient["use"];
  /** The n-th has gone n + 1 steps. */
  readonly episodeIds: readonly string[];
  /** Acts in another session of the host. */
  join(sessionId: string): Promise<{ api: A2EClient["use"] }>;
  /** All that the session's plugins keep in it, as plain objects. */
  data(): Promise<unknown>;
  close(): Promise<void>;
}

export async function openFullSession(storage: "database" | "durable"): Promise<FullSession> {
  const { host, snapshots, close } = await startAuditedHost({ plugins: [memoryPlugin(), envPlugin()], storage });
  const connect = async (open: () => Session) => {
    const transport = createDirectTransport(open);
    const client = await A2EClient.connect({ transport, capabilities: [memory.name, env.name], agentId: "bench" });
    return { client, api: client.use.bind(client) as A2EClient["use"] };
  };
  const session = host.sessions.create();
  const { client, api } = await connect(() => session);
  await fillMemory(api);
  const episodeIds: string[] = [];
  while (episodeIds.length < episodeCount) {
    const { obs } = await api(env).reset({ env_name: "counter_env", seed: episodeIds.length });
    episodeIds.push(obs.episode_id);
    for (let step = 0; step < episodeIds.length; step++)
      await api(env).step({ episode_id: obs.episode_id, action: { type: "dec" } });
  }
  return {
    host,
    api,
    episodeIds,
    join: (id) =>
      connect(() => {
        const found = host.sessions.get(id);
        if (found === undefined) throw new Error("there is no such session");
        return found;
      }),
    async data() {
      await session.saveSnapshot();
      const saved = await snapshots.load(session.id);
      return (saved?.state as { plugins?: unknown } | undefined)?.plugins;
    },
    async close() {
      await client.disconnect();
      await close("");
    },
  };
}

async function fillMemory(api: A2EClient["use"]): Promise<void> {
  const corpus = createCorpus();
  const amounts = { working: entryCount, episodic: entryCount / 10, semantic: entryCount / 10 } as const;
  for (const tier of ["working", "episodic", "semantic"] as const) {
    const entries = corpus.entries(0, amounts[tier]).map((entry) => ({ ...entry, tier, tags: ["seen", "bench"] }));
    const { errors } = await api(memory).store({ entries });
    if (errors.length > 0) throw new Error(errors[0]);
  }
}
