// Records a session and replays it, for the tests of this folder.

import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { tools } from "../caps/tools/protocol.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost, type HostOptions } from "../host/host.ts";
import { type RawPeer, startRawHost } from "../host/session/raw-session.suite.ts";
import type { Plugin } from "../plugin/plugin.ts";
import type { Message } from "../protocol/envelope.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createMemoryRecordings } from "./memory-recordings.suite.ts";
import { type ReplayOptions, replayRecording } from "./replay.ts";
import type { ReplayReport } from "./replay-report.ts";

export interface Recorded {
  /** The recording of the only session. */
  text: string;
}

export async function record(
  plugins: Plugin[],
  talk: (peer: RawPeer) => Promise<void>,
  options: Partial<HostOptions> = {},
  begin = (peer: RawPeer): unknown => peer.shakeHands({ agent_caps: plugins.map(({ capability }) => capability.name) }),
): Promise<Recorded> {
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost(plugins, { ...options, recordings });
  const peer = raw.connect();
  await begin(peer);
  await talk(peer);
  peer.send({ type: "shutdown", id: "bye", timeout: 1 });
  await peer.until(() => peer.received.some(({ type }) => type === "session/closed"));
  await raw.host.close(0);
  return { text: recordings.texts[0] ?? "" };
}

export function replay(
  { text }: Recorded,
  plugins: Plugin[],
  options: Partial<ReplayOptions> & { host?: Partial<HostOptions> } = {},
): Promise<ReplayReport> {
  return replayRecording(text, {
    ...options,
    startHost: (prepare) =>
      A2EHost.start(
        prepare({ keeping: keepSessions, snapshots: createMemorySnapshotStore(), ...options.host, plugins }),
      ),
  });
}

/** A recording that an earlier version wrote. */
export function readFixture(name: string): Promise<string> {
  return readFile(new URL(`fixtures/${name}.a2e-recording.ndjson`, import.meta.url), "utf8");
}

export const identical: ReplayReport = { messages: expect.any(Number), is_identical: true };

export function askTool(peer: RawPeer, id: string, tool_name: string, more: object = {}): Promise<Message> {
  peer.send({ type: tools.calls.call.type, id, version: "1.0", tool_name, arguments: {}, ...more });
  return peer.answer(id);
}
