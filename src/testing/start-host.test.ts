import { expect, test } from "vitest";
import { z } from "zod";
import { A2EClient } from "../client/client.ts";
import { CheckedResult } from "../plugin/checked-result.ts";
import { plugin } from "../plugin/plugin.ts";
import { call, capability } from "../protocol/table/capability.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { createFakeClock } from "./fake-clock.ts";
import { createFakeIds } from "./fake-ids.ts";
import { watchResources } from "./leaks.ts";
import { startHost } from "./start-host.ts";

const echo = capability("echo", {
  doc: "Repeats a text.",
  calls: {
    say: call("echo/say/req", "echo/say/resp", {
      about: { access: "read" },
      doc: "Repeats a text with the current time.",
      request: z.object({ text: z.string() }),
      result: z.object({ text: z.string(), at: z.number() }),
      example: { request: { text: "a" }, result: { text: "a", at: 0 } },
    }),
  },
});

function echoPlugin() {
  return plugin(echo, {
    session: ({ log }) => ({
      handlers: {
        say({ text }, { clock }) {
          log.info("asked", { text });
          return { text, at: clock.now() };
        },
      },
    }),
  });
}

test("a plugin is called through the API of its capability", async () => {
  const clock = createFakeClock(1_000);
  await using testHost = await startHost({ plugins: [echoPlugin()], clock });
  clock.advance(500);

  expect(await testHost.client.echo.say({ text: "hello" })).toEqual({ text: "hello", at: 1_500 });
});

test("messages between client and host are recorded in both directions", async () => {
  await using testHost = await startHost({
    plugins: [echoPlugin()],
    nextId: createFakeIds("host"),
    client: { nextId: createFakeIds("agent"), agentId: "tester" },
  });

  await testHost.client.echo.say({ text: "hello" });

  const told = testHost.wire.map(({ direction, message }) => [direction, message.type, message.req_id ?? message.id]);
  expect(told).toEqual([
    ["sent", "handshake/req", "agent-1"],
    ["received", "handshake/resp", "agent-1"],
    ["sent", "echo/say/req", "agent-2"],
    ["received", "echo/say/resp", "agent-2"],
  ]);
  expect(JSON.parse(testHost.wire[2]?.line ?? "")).toMatchObject({ text: "hello" });
});

test("an answer is handed to the client as by the direct transport alone: the object that passed the host's table", async () => {
  const result = { text: "hello", at: 1 };
  const say = () => new CheckedResult(result);
  await using testHost = await startHost(plugin(echo, { session: () => ({ handlers: { say } }) }));
  const transport = createDirectTransport(() => testHost.host.sessions.create());
  const client = await A2EClient.connect({ transport, capabilities: ["echo"] });

  const alone = await client.use(echo).say({ text: "hello" });
  const recorded = await testHost.client.echo.say({ text: "hello" });
  await client.disconnect();

  expect([alone === result, recorded === result]).toEqual([true, true]);
  expect(testHost.wire.at(-1)?.message).toMatchObject({ type: "echo/say/resp", ...result });
});

test("entries that plugins log can be inspected", async () => {
  await using testHost = await startHost(echoPlugin());

  await testHost.client.echo.say({ text: "hello" });

  expect(testHost.log.entries).toContainEqual({ level: "info", message: "asked", fields: { text: "hello" } });
});

test("a session that was not ended is reported when the host closes", async () => {
  const testHost = await startHost(echoPlugin());
  testHost.host.sessions.create();

  await expect(testHost.close()).rejects.toThrow("1 session is left");
});

test("a closed host leaves nothing running", async () => {
  const watch = watchResources();
  const testHost = await startHost(echoPlugin());
  await testHost.client.echo.say({ text: "hello" });

  await testHost.close();

  await watch.expectNothingLeft();
});
