import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepSessions } from "../../durability/keep-sessions.ts";
import { A2EHost } from "../../host/host.ts";
import { core } from "../../protocol/core.ts";
import { createMemoryRecordings } from "../../recording/memory-recordings.suite.ts";
import { replayRecording } from "../../recording/replay.ts";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { procPlugin } from "./plugin.ts";
import { startProc } from "./proc-host.suite.ts";

test("a session with processes is replayed without starting any of them", async () => {
  const recordings = createMemoryRecordings();
  const elsewhere = await mkdtemp(join(tmpdir(), "a2e-proc-replay-"));
  try {
    {
      await using host = await startProc({}, { recordings });
      const { proc_id } = await host.sh("touch started; cat; echo err >&2; exit 3");
      await host.api.write({ proc_id, data: "hello\n", eof: true });
      await host.end(proc_id);
      await host.api.read({ proc_id });
      await host.api.status();
      await host.api.kill({ proc_id }).catch(() => {});
      await host.api.spawn({ cmd: ["no-such-program"] });
      const { proc_id: other } = await host.run(["sleep", "300"]);
      await host.api.kill({ proc_id: other, signal: "SIGKILL" });
      await host.client.use(core).ping({});
    }
    const report = await replayRecording(recordings.texts[0] ?? "", {
      startHost: (prepare) =>
        A2EHost.start(
          prepare({
            plugins: [procPlugin({ sandbox: "none", allowed_commands: ["*"] })],
            sandboxes: createSandboxes(),
            keeping: keepSessions,
            snapshots: createMemorySnapshotStore(),
            workspaceDir: elsewhere,
          }),
        ),
    });

    expect(report).toMatchObject({ is_identical: true });
    expect(report.messages).toBeGreaterThan(8);
    await expect(access(join(elsewhere, "started"))).rejects.toMatchObject({ code: "ENOENT" });
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});
