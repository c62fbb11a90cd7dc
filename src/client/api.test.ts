import { describe, expect, test } from "vitest";
import { core } from "../protocol/core.ts";
import { createApi } from "./api.ts";
import { connectFake } from "./fake-transport.suite.ts";

describe("the API of a table", () => {
  test("has a method per call, each of which sends its request", async () => {
    const { client, peer } = await connectFake();
    const api = createApi(client, core);
    expect(Object.keys(api)).toEqual(Object.keys(core.calls));
    const cancelling = api.cancel({ call_id: "a" });
    expect(peer.last).toMatchObject({ type: "invoke/cancel/req", call_id: "a" });
    peer.answer(peer.last, "invoke/cancel/resp", { cancelled: false });
    await expect(cancelling).resolves.toEqual({ cancelled: false });
    await client.disconnect();
  });

  test("needs no request if all fields are optional, and passes options on", async () => {
    const { client, peer } = await connectFake();
    const pinging = createApi(client, core).ping();
    peer.answer(peer.last, "pong", { uptime_seconds: 2 });
    await expect(pinging).resolves.toEqual({ uptime_seconds: 2 });
    await expect(createApi(client, core).ping({}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "aborted",
    });
    await client.disconnect();
  });
});
