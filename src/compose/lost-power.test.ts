// A power cut may take what was written last, though agents were told of it. They go on with what is left.
import { cp, rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { connect } from "./connect-node.ts";
import { useKilledHost } from "./killed-host.suite.ts";

const startHost = useKilledHost("crash-host.suite.ts");

test.each(["http", "ws"])(
  "an agent that has seen more than its host remembers goes on from there (%s)",
  async (scheme) => {
    const host = await startHost();
    const client = await connect(`${scheme}://127.0.0.1:${host.port}`, {
      agentId: "survivor",
      reconnect: { initialBackoffMs: 10, maxBackoffMs: 100 },
    });
    const { episode_id } = (await client.env.reset({ env_name: "counter_env" })).obs;
    const step = () => client.env.step({ episode_id, action: { type: "dec" } });
    for (let count = 0; count < 3; count++) await step();
    const onDisk = `${host.folder}-on-disk`;
    await cp(host.folder, onDisk, { recursive: true });
    for (let count = 0; count < 20; count++) await step();

    await host.restart(async () => {
      await rm(host.folder, { recursive: true });
      await cp(onDisk, host.folder, { recursive: true });
    });
    expect((await step()).obs.step_num).toBe(4);
    // Their numbers are those of lines that the client has seen.
    for (let count = 5; count < 15; count++) expect((await step()).obs.step_num).toBe(count);
    await client.disconnect();
    await host.end();
    await rm(onDisk, { recursive: true });
  },
);
