import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { defaultSandboxLimits as defaults } from "../host/config/sandbox.ts";
import type { ProcessSandbox } from "../host/sandbox.ts";
import { openBubblewrap } from "./bubblewrap-probe.ts";
import { makeWorkspace, runConfined } from "./confined-run.suite.ts";
import { testConfinement } from "./confinement.suite.ts";
import { reportNotRun } from "./not-run.suite.ts";
import type { Opened } from "./opened.ts";
import { testProcessSandbox } from "./process-sandbox.suite.ts";

const probe = await openBubblewrap({ defaults });
afterAll(() => probe.sandbox?.close());

test.runIf(process.env.CI === "true")("bubblewrap works on a machine that vouches for every test", () => {
  expect(probe.sandbox, probe.explanation).toBeDefined();
});

if (probe.sandbox === undefined) reportNotRun("bubblewrap", probe.explanation);
else {
  for (const usesControlGroups of [true, false]) {
    const name = `bubblewrap, ${usesControlGroups ? "with" : "without"} control groups`;
    const open = async () => sandboxOf(await openBubblewrap({ defaults, usesControlGroups }));
    testProcessSandbox(name, open);
    testConfinement(name, open, { node: process.execPath, hasTreeLimits: usesControlGroups });
  }
}

test.runIf(probe.sandbox !== undefined)("system calls that rearrange the system are refused by a filter", async () => {
  const { stdout } = await runConfined(sandboxOf(probe), ["grep", "Seccomp:", "/proc/self/status"]);
  expect(stdout).toBe("Seccomp:\t2\n");
  const { stderr } = await runConfined(sandboxOf(probe), ["unshare", "--user", "true"]);
  expect(stderr).toContain("Operation not permitted");
});

test.runIf(probe.sandbox !== undefined)(
  "the host's own folder is empty, also inside a workspace, but not what is shown of it",
  async () => {
    await using folder = await makeWorkspace();
    const data = join(folder.path, "data");
    const copy = join(data, "copies", "one");
    await mkdir(copy, { recursive: true });
    await writeFile(join(data, "secret.key"), "hidden");
    await writeFile(join(copy, "script"), "shown");
    const sandbox = sandboxOf(await openBubblewrap({ defaults, hidden: [data] }));
    const script = `ls ${data}; cat ${copy}/script; touch ${data}/new ${copy}/new; cat ${data}/secret.key`;
    const { stdout } = await runConfined(sandbox, ["sh", "-c", script], {
      workspace: { path: folder.path, access: "write" },
      readable: [copy],
    });
    await sandbox.close();
    expect(stdout).toBe("copies\nshown");
    expect((await stat(join(data, "secret.key"))).uid).toBe(process.getuid?.());
  },
);

function sandboxOf({ sandbox, explanation }: Opened<ProcessSandbox>): ProcessSandbox {
  if (sandbox === undefined) throw new Error(explanation);
  return sandbox;
}
