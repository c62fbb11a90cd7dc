import { expect, test } from "vitest";
import { KeyedQueue } from "./keyed-queue.ts";

test("work with the same key runs in order, also after a failure, and work with another key runs at the same time", async () => {
  const queue = new KeyedQueue();
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const log: string[] = [];
  const work = (name: string, before: Promise<void> | undefined) => async () => {
    log.push(`${name} begins`);
    await before;
    log.push(`${name} ends`);
    if (name === "a1") throw new Error("failed");
  };

  const a1 = queue.run("a", work("a1", gate));
  const a2 = queue.run("a", work("a2", undefined));
  await queue.run("b", work("b1", undefined));
  expect([...queue.keys]).toEqual(["a"]);
  open();

  await expect(a1).rejects.toThrow("failed");
  await a2;
  expect(log).toEqual(["a1 begins", "b1 begins", "b1 ends", "a1 ends", "a2 begins", "a2 ends"]);
});

test("a key is free when the last work with it has settled, also if that threw at once", async () => {
  const queue = new KeyedQueue();

  await expect(
    queue.run("a", () => {
      throw new Error("at once");
    }),
  ).rejects.toThrow("at once");
  expect([...queue.keys]).toEqual([]);

  expect(await queue.run("a", () => 1)).toBe(1);
  expect([...queue.keys]).toEqual([]);
});

test("a queue is idle when all work has ended, also work that was given while others waited for that", async () => {
  const queue = new KeyedQueue();
  let isDone = false;
  void queue.run("a", async () => {
    await Promise.resolve();
    void queue.run("b", async () => {
      await Promise.resolve();
      isDone = true;
    });
  });

  await queue.idle();

  expect(isDone).toBe(true);
  expect([...queue.keys]).toEqual([]);
});
