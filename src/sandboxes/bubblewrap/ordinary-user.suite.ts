// Started by a test as a process of an ordinary user: reports how bubblewrap works for that user, as JSON on stdout.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import { runConfined } from "../suites/confined-run.suite.ts";
import { openBubblewrap } from "./probe.ts";

const { sandbox, explanation } = await openBubblewrap({ defaults });
if (sandbox === undefined) {
  console.log(JSON.stringify({ explanation }));
} else {
  const path = await mkdtemp(join(tmpdir(), "workspace-"));
  const options = { workspace: { path, access: "write" as const } };
  const run = (script: string, limits = {}) => runConfined(sandbox, ["sh", "-c", script], { ...options, limits });
  const results = {
    explanation,
    user: process.getuid?.(),
    id: await run("id -u; cat /etc/passwd > /dev/null && echo text > file && cat file"),
    status: await run("cat /proc/self/status"),
    secret: await run(`cat ${process.argv[2]}; ls /proc | grep -c '^[0-9]'`),
    writing: await run("touch /usr/planted || touch /planted || touch /dev/planted || touch /etc/planted"),
    processes: await run("i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i + 1)); done; echo all", { processes: 20 }),
    first: await run("cat /proc/1/limits", { processes: 20, fileBytes: 4096, memoryBytes: 2 ** 27, cpuSeconds: 5 }),
    cpu: await run("while :; do :; done", { cpuSeconds: 1 }),
    exit: await run("kill -9 -1; kill -9 1; exit 200"),
    namespaces: await run("unshare --user --map-root-user true"),
    signal: await runConfined(sandbox, ["sh", "-c", "trap 'exit 3' TERM; echo on; while :; do sleep 0.05; done"], {
      ...options,
      onOutput: (pid) => process.kill(-pid, "SIGTERM"),
    }),
  };
  console.log(JSON.stringify(results));
  await sandbox.close();
  await rm(path, { recursive: true });
}
