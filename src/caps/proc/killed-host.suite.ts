// A host in its own process, to be killed: starts processes that sleep, one outside of its group, one detached, one on
// a terminal, and prints their ids.

import { readdirSync, readFileSync } from "node:fs";
import { A2EClient } from "../../client/client.ts";
import { keepSessions } from "../../durability/keep-sessions.ts";
import { A2EHost } from "../../host/host.ts";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { procPlugin } from "./plugin.ts";
import { proc } from "./protocol.ts";

const [sandbox = "none", workspaceDir = "."] = process.argv.slice(2);

const host = await A2EHost.start({
  plugins: [procPlugin({ sandbox, allowed_commands: ["*"] })],
  sandboxes: createSandboxes(),
  keeping: keepSessions,
  snapshots: createMemorySnapshotStore(),
  workspaceDir,
});
const transport = createDirectTransport(() => host.sessions.create());
const client = await A2EClient.connect({ transport, capabilities: ["proc"], agentId: "killed" });
const api = client.use(proc);

/** Unique to this process: other runs of this test on the machine have their own sleepers. */
const word = String(1_000_000 + process.pid);
const escaping = `setsid sh -c 'trap "" HUP TERM; sleep ${word}' & sh -c 'trap "" HUP TERM; sleep ${word}; true' & wait`;
const started = [
  await api.spawn({ cmd: ["sleep", word] }),
  await api.spawn({ cmd: ["sh", "-c", escaping] }),
  await api.spawn({ cmd: ["sleep", word], detached: true }),
  await api.spawn({ cmd: ["sleep", word], pty: true }),
];
const problem = started.find(({ ok }) => !ok)?.error;

/** Every process of this machine that sleeps for this time. */
function sleepers(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && commandOf(pid) === `sleep\0${word}\0`);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/^\S*\/sleep\0/, "sleep\0");
  } catch {
    return "";
  }
}

while (problem === undefined && sleepers().length < 5) await new Promise((resolve) => setTimeout(resolve, 10));
const answer = problem === undefined ? {} : { reason: problem };
process.stdout.write(`${JSON.stringify({ groups: started.map(({ pid }) => pid), escaped: sleepers(), ...answer })}\n`);
