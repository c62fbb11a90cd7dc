import { expect, test } from "vitest";
import { ownServer, startBridge, waitFor } from "../start-bridge.suite.ts";

const hostile = (...flags: string[]) => ({ cmd: ownServer("hostile", ...flags) });
const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

test("a server is pinged, and the duration is shown", async () => {
  await using bridge = await startBridge({ good: hostile() }, { ping_interval_ms: 20 });

  const { last_ping_ms, error } = await waitFor(async () => {
    const server = await bridge.status("good", "ready");
    return server.last_ping_ms > 0 ? server : undefined;
  }, "a ping");

  expect(last_ping_ms).toBeLessThan(10_000);
  expect(error).toBe("");
});

test("an idle server that misses three consecutive pings is restarted", async () => {
  await using bridge = await startBridge(
    { mute: hostile("--mute-pings") },
    { ping_interval_ms: 20, ping_timeout_ms: 50 },
  );
  await bridge.status("mute", "ready");
  const pid = textOf(await bridge.call("mute__pid"));

  const { reconnects } = await waitFor(async () => {
    const server = await bridge.status("mute", "ready");
    return server.reconnects > 0 ? server : undefined;
  }, "a new start");

  expect(reconnects).toBeGreaterThan(0);
  expect(textOf(await bridge.call("mute__pid"))).not.toBe(pid);
});

test("a busy server is not restarted, however many pings it misses", async () => {
  await using bridge = await startBridge(
    { mute: hostile("--mute-pings") },
    { ping_interval_ms: 10, ping_timeout_ms: 20 },
  );
  await bridge.status("mute", "ready");

  const answer = await bridge.call("mute__wait", { ms: 600, text: "took its time" });

  expect(textOf(answer)).toBe("took its time");
});

test("a server that answers pings with an error is not restarted", async () => {
  await using bridge = await startBridge({ plain: hostile("--no-ping") }, { ping_interval_ms: 5 });
  await bridge.status("plain", "ready");

  await bridge.call("plain__wait", { ms: 300 });
  const { reconnects, error } = await bridge.status("plain", "ready");

  expect({ reconnects, error }).toEqual({ reconnects: 0, error: "" });
});
