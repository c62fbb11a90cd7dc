import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { ProcessGroup } from "./process-group.ts";

const options = { isConfined: false, isKept: false, mark: "process-group-test", setUpMs: 0 };

test("an empty group is never signalled again, because its id may be reused", async () => {
  const child = spawn("true", { detached: true });
  const group = new ProcessGroup({ ...options, pid: child.pid ?? 0 });
  await once(child, "exit");
  group.leaderEnded();
  const kill = vi.spyOn(process, "kill");
  group.killMembers();

  expect(group.signal(15)).toBe(false);
  expect(kill).not.toHaveBeenCalled();
  kill.mockRestore();
});

test("a group whose leader has ended is signalled while it has members", async () => {
  const child = spawn("sh", ["-c", "sleep 300 & echo on"], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const group = new ProcessGroup({ ...options, pid: child.pid ?? 0 });
  await once(child, "exit");
  group.leaderEnded();

  expect(group.signal(0)).toBe(true);
  group.killMembers();
  // Its output ends when the last process closes it.
  for await (const _ of child.stdout);
});
