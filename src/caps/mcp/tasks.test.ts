// Tools that run as tasks: in the revision of 2025-11-25, and by the extension of 2026-07-28.
import { describe, expect, test } from "vitest";
import { mcp } from "./protocol.ts";
import { ownServer, startBridge, waitFor } from "./start-bridge.suite.ts";

const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

describe.each([
  ["2025-11-25", []],
  ["2026-07-28", ["--2026"]],
])("in the revision of %s", (revision, flags) => {
  const start = async (permissions = {}) => {
    const bridge = await startBridge({ slow: { cmd: ownServer("tasks", ...flags), permissions } });
    expect(await bridge.status("slow", "ready")).toMatchObject({ mcp_version: revision });
    return bridge;
  };

  test("a task is followed to its end, and what it says on the way is told as events", async () => {
    await using bridge = await start();
    const events: [string, unknown][] = [];

    const { data } = await bridge.client.tools.call(
      { tool_name: "slow__steps", arguments: { what: "it" } },
      { onEvent: ({ kind, data }) => events.push([kind, data]) },
    );

    expect(textOf(data)).toBe("done with it");
    const statuses = events.filter(([kind]) => kind === "status").map(([, status]) => status);
    expect(statuses).toEqual([
      { task_id: "task-1", status: "working", message: "begun" },
      { task_id: "task-1", status: "working", message: "half way" },
    ]);
  });

  test("a task that fails is an error with the server's code, one whose tool fails a result", async () => {
    await using bridge = await start();

    await expect(bridge.call("slow__failing")).rejects.toMatchObject({
      code: "mcp_protocol_error",
      message: expect.stringContaining("it broke"),
      detail: { mcp_code: -32000 },
    });
    expect(await bridge.call("slow__mistaken")).toMatchObject({ success: false, error: "it went wrong" });
  });

  test("a task that the server withdraws, or no longer knows, ends the call", async () => {
    await using bridge = await start();

    await expect(bridge.call("slow__withdrawn")).rejects.toMatchObject({ code: "mcp_protocol_error" });
    await expect(bridge.call("slow__gone")).rejects.toMatchObject({
      code: "mcp_protocol_error",
      message: expect.stringContaining("Task not found"),
    });
  });

  test("a call that is cancelled, and one whose time is over, cancel their tasks", async () => {
    await using bridge = await start();
    const controller = new AbortController();
    const cancelled = async () => JSON.parse(textOf(await bridge.call("slow__cancelled")) ?? "[]") as string[];

    const endless = bridge.client.tools.call(
      { tool_name: "slow__endless" },
      { signal: controller.signal, onEvent: () => controller.abort() },
    );
    await expect(endless).rejects.toMatchObject({ code: "aborted" });
    await expect(bridge.client.tools.call({ tool_name: "slow__endless", timeout: 0.2 })).rejects.toMatchObject({
      code: "timeout",
    });

    await waitFor(async () => ((await cancelled()).length === 2 ? true : undefined), "two cancellations");
    expect(await cancelled()).toEqual(["task-1", "task-2"]);
  });

  test("a task that needs something of the user has the agent asked", async () => {
    await using bridge = await start({ elicitation: true });
    const asked: unknown[] = [];
    const statuses: unknown[] = [];
    bridge.client.onAsk(mcp.asks.elicit, async ({ message, mode }) => {
      asked.push({ message, mode });
      return { action: "accept", content: { one: "the first" } };
    });

    const { data } = await bridge.client.tools.call(
      { tool_name: "slow__asking" },
      { onEvent: ({ data: { status } }) => statuses.push(status) },
    );

    expect(textOf(data)).toBe("chosen: the first");
    expect(asked).toEqual([{ message: "Which one?", mode: "form" }]);
    expect(statuses).toContain("input_required");
  });

  test("the agent that is asked is the one whose task it is, whoever else is at work", async () => {
    await using bridge = await start({ elicitation: true });
    const other = await bridge.connect();
    const asked: string[] = [];
    const answering = (name: string) => async () => {
      asked.push(name);
      return { action: "accept", content: { one: name } };
    };
    bridge.client.onAsk(mcp.asks.elicit, answering("first"));
    other.onAsk(mcp.asks.elicit, answering("second"));
    const controller = new AbortController();
    const busy = other.tools.call({ tool_name: "slow__endless" }, { signal: controller.signal }).catch(() => {});
    await waitFor(async () => ((await bridge.status("slow", "ready")).in_flight > 0 ? true : undefined), "a call");

    const answer = await bridge.call("slow__asking");
    controller.abort();
    await busy;

    expect(textOf(answer)).toBe("chosen: first");
    expect(asked).toEqual(["first"]);
  });

  test("a task whose question is refused is over", async () => {
    await using bridge = await start({ elicitation: true });

    await expect(bridge.call("slow__asking")).rejects.toMatchObject({ code: "mcp_sampling_refused" });

    // In the older revision the server hears of the refusal and decides; in the newer one only this says it.
    const expected = flags.length === 0 ? "[]" : '["task-1"]';
    await waitFor(
      async () => (textOf(await bridge.call("slow__cancelled")) === expected ? true : undefined),
      "the end",
    );
  });
});

test("progress of a task is told for as long as it runs", async () => {
  await using bridge = await startBridge({ slow: { cmd: ownServer("tasks") } });
  await bridge.status("slow", "ready");
  const progress: unknown[] = [];
  const controller = new AbortController();

  const call = bridge.client.tools.call(
    { tool_name: "slow__endless" },
    { signal: controller.signal, onEvent: ({ kind, data }) => kind === "progress" && progress.push(data) },
  );
  await waitFor(() => (progress.length > 0 ? true : undefined), "progress");
  controller.abort();

  await expect(call).rejects.toMatchObject({ code: "aborted" });
  expect(progress).toEqual([{ progress: 1 }]);
});
