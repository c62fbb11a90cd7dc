// The end of a session is replayed as it was recorded, although a replay does not have the data that the host stored
// about the session.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { env } from "../caps/env/protocol.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfig, A2EHostConfigInput } from "../config/schema.ts";
import type { Session } from "../host/session.ts";
import { core } from "../protocol/core.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { startConfiguredHost } from "./configured-host.ts";
import { replayConfigured } from "./replay.ts";

const nextFolder = useTemporaryFolder();

function recordingConfig(input: A2EHostConfigInput): A2EHostConfig {
  return toHostConfig({ recording: { enabled: true }, ...input }, { baseDir: nextFolder(), env: {} });
}

function recordingsOf({ recording }: A2EHostConfig): string[] {
  return readdirSync(recording.path).map((name) => readFileSync(join(recording.path, name), "utf8"));
}

/** Sends goodbye, and waits until the session has ended. */
async function leave(session: Session): Promise<void> {
  const isClosed = new Promise<void>((resolve) => void session.onClosed(resolve));
  session.receiveLine(JSON.stringify({ type: "shutdown", id: "bye", timeout: 0 }));
  await isClosed;
}

async function expectIdentical(config: A2EHostConfig, count: number): Promise<void> {
  const recordings = recordingsOf(config);
  expect(recordings).toHaveLength(count);
  for (const recording of recordings)
    expect(await replayConfigured(recording, config)).toMatchObject({ is_identical: true });
}

test("of a session that an earlier host had begun", async () => {
  const config = recordingConfig({});
  const first = await startConfiguredHost(config);
  const session = first.sessions.create();
  await A2EClient.connect({ transport: createDirectTransport(() => session), agentId: "agent", capabilities: ["env"] });
  await first.close(0);
  const second = await startConfiguredHost(config);
  await leave((await second.sessions.find(session.id)) as Session);
  await second.close(0);

  await expectIdentical(config, 2);
});

test("of a fork that was not merged, and of its parent", async () => {
  const config = recordingConfig({ persistence: { enabled: false } });
  const host = await startConfiguredHost(config);
  const parent = host.sessions.create();
  const client = await A2EClient.connect({
    transport: createDirectTransport(() => parent),
    agentId: "agent",
    capabilities: ["env"],
  });
  await client.use(env).reset({ env_name: "counter_env" });
  const { session_id } = await client.use(core).fork({});
  await leave(host.sessions.get(session_id) as Session);
  await leave(parent);
  await host.close(0);

  await expectIdentical(config, 2);
});

test("of a session that the host has saved by itself", async () => {
  const config = recordingConfig({});
  const host = await startConfiguredHost(config);
  const session = host.sessions.create();
  const client = await A2EClient.connect({
    transport: createDirectTransport(() => session),
    agentId: "agent",
    capabilities: ["env"],
  });
  await client.use(env).reset({ env_name: "counter_env" });
  await host.close(10_000);

  await expectIdentical(config, 1);
});
