// Sessions that are restored to a snapshot while they run chains.
import { expect, test } from "vitest";
import { core } from "../../protocol/core.ts";
import { startChains, tool } from "./start-chains.suite.ts";

const nodes = [tool("a", "later"), tool("slow", "wait", { deps: ["a"], input: { name: "slow" } })];

test("a chain that runs when its session is restored is stopped and answered, and does not run again", async () => {
  await using host = await startChains();
  const session = host.client.use(core);
  const running = host.api.run({ nodes });
  await expect.poll(() => host.recorder.waiting).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 10));

  const { snapshot_id } = await session.snapshot({});
  await session.restore({ snapshot_id });

  expect(await running).toMatchObject({
    success: false,
    error: { code: "cancelled", message: "the session was restored to a snapshot while the chain ran" },
    outputs: { a: {} },
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(host.recorder.stopped).toEqual(["slow"]);
  expect(host.recorder.calls.map(({ tool }) => tool)).toEqual(["later", "wait"]);
  expect((await host.api.list()).runs).toEqual([]);
});

test("a chain that was in progress in the snapshot and has ended since does not run again", async () => {
  await using host = await startChains();
  const session = host.client.use(core);
  const running = host.api.run({ nodes });
  await expect.poll(() => host.recorder.waiting).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const { snapshot_id } = await session.snapshot({});
  host.recorder.release("slow");
  await running;

  await session.restore({ snapshot_id });
  await new Promise((resolve) => setTimeout(resolve, 20));

  expect(host.recorder.calls.map(({ tool }) => tool)).toEqual(["later", "wait"]);
  expect((await host.api.list()).runs).toEqual([]);
});
