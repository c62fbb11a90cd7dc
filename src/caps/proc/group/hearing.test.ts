import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, vi } from "vitest";
import { linux, testWith } from "../../../testing/needs.suite.ts";
import { hearingOf, isEndedBy } from "./hearing.ts";

const realTime = 35;

testWith(linux)("a signal ends a process without a handler, and not a zombie", async () => {
  // `sleep` does not reap its children.
  const parent = spawn("sh", ["-c", "true & echo $!; exec sleep 300"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [text] = await once(parent.stdout, "data");
    const dead = Number(text);
    await vi.waitFor(() => expect(hearingOf(dead, realTime, undefined)).toBe("gone"));

    expect(isEndedBy(dead, realTime)).toBe(false);
    expect(isEndedBy(parent.pid ?? 0, realTime)).toBe(true);
  } finally {
    parent.kill("SIGKILL");
    await once(parent, "close");
  }
});
