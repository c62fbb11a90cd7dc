import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";
import type { Sandboxes } from "../../../plugin/ports/sandbox.ts";
import { createSandboxes } from "../../../sandboxes/sandboxes.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { parseProcOptions } from "../options.ts";
import { isAlive, whenGone } from "../proc-host.suite.ts";
import { proc } from "../protocol.ts";
import type { SpawnRequest } from "./spawn-plan.ts";
import { Workshop } from "./workshop.ts";

const options = parseProcOptions({ sandbox: "none", allowed_commands: ["*"] });
const request = proc.calls.spawn.request.parse({ cmd: ["sleep", "300"] }) as SpawnRequest;
const origin = { id: "one", family: "family", clock: { now: () => 0 } };

function createWorkshop(sandboxes: Sandboxes): Workshop {
  return new Workshop(options, { sandboxes, workspaceDir: "/" }, process.env, randomUUID());
}

async function spawnIn(workshop: Workshop, asked = request): Promise<ManagedProcess> {
  const started = await workshop.spawn(asked, origin);
  if ("problem" in started) throw new Error(started.problem);
  return started;
}

test("a process that is being started while the host closes is ended, and none is started afterwards", async () => {
  const sandboxes = createSandboxes();
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const workshop = createWorkshop({ ...sandboxes, process: (name) => opened.then(() => sandboxes.process(name)) });

  const spawning = spawnIn(workshop);
  const closing = workshop.close();
  open();
  const started = await spawning;
  await closing;

  await whenGone(started.child.pid);
  expect(started.hasEnded).toBe(true);
  expect(await workshop.spawn(request, origin)).toEqual({ problem: "the host is shutting down" });
  await sandboxes.close();
});

test("a process that cannot be ended does not prevent the host from closing", async () => {
  const sandboxes = createSandboxes();
  const workshop = createWorkshop(sandboxes);
  const started = await spawnIn(workshop);
  const { pid } = started.child;
  const kill = process.kill.bind(process);
  // As for a program that has changed its user.
  const refusing = vi.spyOn(process, "kill").mockImplementation((target, signal) => {
    if (Math.abs(target) === pid) throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
    return kill(target, signal);
  });
  try {
    await workshop.close();
    expect(started.hasEnded).toBe(false);
  } finally {
    refusing.mockRestore();
    started.kill();
    await started.whenEnded();
    await sandboxes.close();
  }
});

test("descendants of a process do not outlive the host, even if no session holds the process", async () => {
  const sandboxes = createSandboxes();
  const workshop = createWorkshop(sandboxes);
  const script = "setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1' & sleep 0.1";
  const started = await spawnIn(workshop, { ...request, cmd: ["sh", "-c", script], events: false });
  started.holder = {};
  await started.whenEnded();
  const escaped = Number(String(started.ring.read(0, 100)[0]?.bytes));
  expect(await isAlive(escaped)).toBe(true);
  await workshop.close();

  await whenGone(escaped);
  await sandboxes.close();
});
