// @ts-check
// Runs a small build: follows its output as it comes, answers what it asks, loses the connection and misses nothing, and
// stops what does not stop by itself.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { A2EHost, connectEmbedded, createMemorySnapshotStore, keepSessions } from "a2e";
import { createSandboxes } from "a2e/host";
import { procPlugin } from "a2e/proc";

const workspaceDir = await mkdtemp(join(tmpdir(), "a2e-build-"));
// Unconfined, so that it runs everywhere; leave `sandbox` out for programs that you do not trust.
const plugins = [procPlugin({ sandbox: "none", allowed_commands: ["sh", "sleep"] })];
const host = await A2EHost.start({
  plugins,
  workspaceDir,
  sandboxes: createSandboxes(),
  keeping: keepSessions,
  snapshots: createMemorySnapshotStore(),
});
const client = await connectEmbedded(host, { agentId: "builder" });

const build = `
  echo "compiling"; echo "warning: old syntax" >&2
  printf "deploy? "; read answer
  for step in 1 2 3; do echo "step $step: $answer"; sleep 0.1; done
  exit 3
`;

// Output comes as events, stdout and stderr apart.
client.onPush("proc/read/event", ({ stream_type, data }) => {
  const { text } = /** @type {{ text?: string }} */ (data);
  if (text) console.log(`${stream_type}: ${text.trim()}`);
});
const { proc_id } = await client.proc.spawn({ cmd: ["sh", "-c", build], timeout: 60 });

// A cursor counts bytes: a reader with the cursor continues at the same place, in this connection or in the next.
let output = "";
let cursor = 0;
while (!output.includes("deploy?")) {
  const read = await client.proc.read({ proc_id, stream: "stdout", cursor, wait_ms: 5000 });
  output += read.chunks.map(({ text }) => text).join("");
  cursor = read.next_cursor;
}
await client.proc.write({ proc_id, data: "yes\n" });

// Another connection of the same agent: a detached build outlives the first connection.
await client.proc.detach({ proc_id });
await client.disconnect();
const again = await connectEmbedded(host, { agentId: "builder" });
let end;
do {
  end = await again.proc.read({ proc_id, stream: "stdout", cursor, wait_ms: 5000 });
  output += end.chunks.map(({ text }) => text).join("");
  cursor = end.next_cursor;
} while (!end.eof);
assert.equal(output, "compiling\ndeploy? step 1: yes\nstep 2: yes\nstep 3: yes\n");
const warnings = await again.proc.read({ proc_id, stream: "stderr" });
console.log(`warnings: ${warnings.chunks[0]?.text.trim()}`);
console.log(`build: ${end.status}, exit code ${end.exit_code}`);

// The child processes of a process end with it.
const { proc_id: server } = await again.proc.spawn({ cmd: ["sh", "-c", "sleep 300 & sleep 300"] });
const { state } = await again.proc.kill({ proc_id: server, signal: "SIGKILL" });
const { signal } = await again.proc.status({ proc_id: server });
console.log(`server: ${state} by ${signal}`);

const { ok, error } = await again.proc.spawn({ cmd: ["rm", "-rf", "/"] });
console.log(`rm: ${ok ? "started" : error}`);

await again.disconnect();
await host.close();
await rm(workspaceDir, { recursive: true });
