import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WatchedWorkspace } from "./watched-workspace.ts";
import type { Count } from "./workspace-size.ts";

const mebibyte = 1024 * 1024;
const longMs = 60_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function counted(bytes: number): Count {
  return { bytes, mounted: [], sizes: { inodes: new Float64Array(), bytes: new Float64Array() }, queued: 0 };
}

/** A workspace that held 100 MiB before its first program. */
function createWorkspace() {
  const state = { bytes: 100 * mebibyte };
  const count = vi.fn(async () => counted(state.bytes));
  return { state, count, workspace: new WatchedWorkspace({ first: counted(state.bytes), count }) };
}

function createProgram(maxBytes = 64 * mebibyte) {
  return { maxBytes, maxFileBytes: mebibyte, onFull: vi.fn() };
}

test("a workspace is counted while programs run, and not before or after", async () => {
  const { workspace, count } = createWorkspace();
  const programs = [createProgram(), createProgram()] as const;
  await vi.advanceTimersByTimeAsync(longMs);
  expect(count).not.toHaveBeenCalled();
  for (const program of programs) workspace.add(program);
  await vi.advanceTimersByTimeAsync(longMs);
  expect(count).toHaveBeenCalled();
  for (const program of programs) workspace.remove(program);
  count.mockClear();
  await vi.advanceTimersByTimeAsync(longMs);
  expect(count).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

test("every program whose limit is exceeded is ended once, and the others continue", async () => {
  const { workspace, state } = createWorkspace();
  const [small, large] = [createProgram(), createProgram(1024 * mebibyte)];
  workspace.add(small);
  workspace.add(large);
  state.bytes += 64 * mebibyte;
  await vi.advanceTimersByTimeAsync(longMs);
  expect(small.onFull).not.toHaveBeenCalled();
  state.bytes += 1;
  await vi.advanceTimersByTimeAsync(longMs);
  expect([small.onFull.mock.calls.length, large.onFull.mock.calls.length]).toEqual([1, 0]);
});

test("the less space is left, the more often a workspace is counted", async () => {
  const { workspace, count, state } = createWorkspace();
  workspace.add(createProgram(10_000 * mebibyte));
  await vi.advanceTimersByTimeAsync(longMs);
  const far = count.mock.calls.length;
  state.bytes += 9_990 * mebibyte;
  await vi.advanceTimersByTimeAsync(longMs);
  expect(count.mock.calls.length - far).toBeGreaterThan(10 * far);
});

test("programs that each end before a count use up the time until the next count", async () => {
  const { workspace, count } = createWorkspace();
  for (let index = 0; index < 50; index++) {
    const program = createProgram();
    await workspace.refresh(program.maxBytes);
    workspace.add(program);
    await vi.advanceTimersByTimeAsync(1);
    workspace.remove(program);
  }
  expect(count).toHaveBeenCalled();
});

test("a workspace is not counted while its programs use no processor time", async () => {
  const { workspace, count } = createWorkspace();
  let usedMs = 0;
  workspace.add({ ...createProgram(), control: () => ({ freezer: undefined, processorMs: () => usedMs }) });
  await vi.advanceTimersByTimeAsync(longMs);
  expect(count).not.toHaveBeenCalled();
  usedMs += 1_000;
  await vi.advanceTimersByTimeAsync(longMs);
  expect(count).toHaveBeenCalledOnce();
});

test("programs near the limit are frozen during a count, and a program that is ended stays frozen", async () => {
  const { workspace, count, state } = createWorkspace();
  const events: string[] = [];
  const freezer = { freeze: async () => void events.push("freeze"), thaw: async () => void events.push("thaw") };
  let usedMs = 0;
  count.mockImplementation(async () => {
    await vi.advanceTimersByTimeAsync(20);
    events.push("count");
    return counted(state.bytes);
  });
  const program = { ...createProgram(), control: () => ({ freezer, processorMs: () => ++usedMs * 1_000 }) };
  workspace.add(program);
  await vi.waitFor(() => expect(events).toContain("thaw"));
  expect(events.slice(events.indexOf("freeze"), events.indexOf("thaw") + 1)).toEqual(["freeze", "count", "thaw"]);
  state.bytes += 65 * mebibyte;
  await vi.waitFor(() => expect(program.onFull).toHaveBeenCalledOnce());
  expect(events.slice(-2)).toEqual(["freeze", "count"]);
});

test("a count that fails is repeated and ends no program", async () => {
  const { workspace, count, state } = createWorkspace();
  const program = createProgram();
  workspace.add(program);
  state.bytes += 65 * mebibyte;
  count.mockRejectedValueOnce(new Error("too many open files"));
  await vi.advanceTimersByTimeAsync(10);
  expect([count.mock.calls.length, program.onFull.mock.calls.length]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(longMs);
  expect(program.onFull).toHaveBeenCalledOnce();
});
