import { createServer } from "node:net";
import { expect, test } from "vitest";
import { watchResources } from "./leaks.ts";

test("an open server is reported as left, and no resource once it is closed", async () => {
  const watch = watchResources();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  await expect(watch.expectNothingLeft({ withinMs: 0 })).rejects.toThrow("TCPServerWrap");

  await new Promise((resolve) => server.close(resolve));
  await watch.expectNothingLeft();
});

test("a timer that still runs is found as left", async () => {
  const watch = watchResources();
  const timer = setInterval(() => {}, 60_000);

  await expect(watch.expectNothingLeft({ withinMs: 0 })).rejects.toThrow("1 × Timeout");

  clearInterval(timer);
  await watch.expectNothingLeft();
});
