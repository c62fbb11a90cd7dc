import { expect, test } from "vitest";
import type { Child, ChildEvents } from "./child/child.ts";
import { ManagedProcess } from "./managed-process.ts";
import type { ReadEvent } from "./output/feed.ts";
import type { ProcessOptions } from "./process-options.ts";

const ringBytes = 1024;

/** A process that writes whenever it is read. */
async function startWriter(isAwaited: boolean) {
  let isPaused = false;
  let events: ChildEvents | undefined;
  const child = {
    // An unused id: signals to its group reach no process.
    pid: 2 ** 22 - 1,
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
  } as unknown as Child;
  const limits = {
    ringBytes,
    maxRingSegments: 16,
    maxOutputBytes: 0,
    maxPendingInputBytes: 1,
    graceMs: 1,
    drainMs: 1,
    setUpMs: 0,
    maxEventBytes: 256,
    maxUnsentBytes: 1_000_000,
    stallMs: 1,
  };
  const options = {
    id: "p",
    cmd: [],
    cwd: "/",
    timeoutMs: 60_000,
    sandbox: "none",
    isOnTerminal: false,
    mark: "nobody",
  };
  const written = new ManagedProcess({
    ...options,
    isAwaited,
    limits,
    clock: Date,
    confinement: {
      exitOf: (exit: unknown) => exit,
      verdict: async () => undefined,
      release: async () => {},
    } as unknown as ProcessOptions["confinement"],
    onEnded() {},
  });
  await written.start(async (told) => {
    events = told;
    return child;
  });
  const write = (count: number) => {
    let done = 0;
    for (; done < count && !isPaused; done++) events?.output("stdout", Buffer.alloc(128, 97));
    return done;
  };
  const end = () => {
    events?.exited(0, null);
    events?.closed();
    return written.whenEnded();
  };
  return { written, write, end };
}

test("output before the agent follows the process is kept, and nothing is lost", async () => {
  const { written, write, end } = await startWriter(true);
  const before = write(100);
  const events: ReadEvent[] = [];
  written.follow({ send: (event) => void events.push(event), unsentBytes: () => 0 }, "req", 0);
  write(100 - before);
  await end();

  const bytes = events.reduce((sum, { data }) => sum + String((data as { text?: string }).text ?? "").length, 0);
  expect([before < 100, bytes]).toEqual([true, 12_800]);
  expect(events.filter(({ kind, data }) => kind === "status" && "gap" in (data as object))).toEqual([]);
});

test("a process without a future follower is not paused", async () => {
  const { written, write, end } = await startWriter(false);
  expect(write(100)).toBe(100);
  expect(written.ring.keptBytes).toBe(ringBytes);
  await end();
});
