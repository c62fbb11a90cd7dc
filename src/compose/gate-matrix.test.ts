// Every call of every table, with every kind of credential, over every transport: only the right credential passes.
import { expect, test, vi } from "vitest";
import { connectSecond } from "../federation/mcp/mcp-clients.suite.ts";
import { toToolName } from "../federation/mcp/surface/exposed-calls.ts";
import { handshake, ping } from "../protocol/core.ts";
import { tableCalls } from "../rights/table-calls.suite.ts";
import { startServer } from "../server/http-server.ts";
import { type GatedHost, startGatedHost } from "./gated-host.suite.ts";
import { createMcpRoute } from "./mcp-route.ts";
import { RawAgent, wires } from "./raw-agent.suite.ts";

/** Answers of a gate that was not passed. */
const refusals = ["unauthorized", "forbidden", "capability_missing", "link_closed", "cancelled"];

/** A ping is answered to any peer; a handshake is what proves a credential. */
const guarded = tableCalls.filter(({ call }) => call !== ping && call !== handshake);
const later = 3_600_000;

interface Column {
  /** The credential that is presented. */
  present(gated: GatedHost): string;
  /** Happens between the handshake and the calls. */
  meanwhile?(gated: GatedHost): undefined | Promise<unknown>;
  /** The handshake itself is accepted. */
  opens?: boolean;
}

const columns: Readonly<Record<string, Column>> = {
  "no credential": { present: () => "" },
  "a wrong key": { present: () => `a2e_right_${"0".repeat(64)}` },
  "an expired key": {
    present({ keys, clock }) {
      const { key } = keys.create({ id: "short", roles: ["operator"], expiresAt: clock.now() + 1000 });
      clock.advance(1000);
      return key;
    },
  },
  "a key that expires meanwhile": {
    present: ({ keys, clock }) => keys.create({ id: "short", roles: ["operator"], expiresAt: clock.now() + later }).key,
    meanwhile: ({ clock }) => void clock.advance(later),
    opens: true,
  },
  "a key that is revoked meanwhile": {
    present: ({ keys }) => keys.create({ id: "gone", roles: ["operator"] }).key,
    meanwhile({ keys, host }) {
      keys.revoke("gone");
      return vi.waitFor(() => expect(host.sessions.size).toBe(0));
    },
    opens: true,
  },
  "a token for another host": { present: ({ mint }) => mint("right", { audience: ["another-host"] }) },
  "a token whose rights were narrowed away": {
    present: ({ mint }) => mint("right", { capabilities: [] }),
    opens: true,
  },
  "a role without rules": {
    present: ({ keys }) => keys.create({ id: "bare", roles: ["nothing"] }).key,
    opens: true,
  },
};

/** A host with the key `right`, the server in front of it, and the text of the key. */
async function start() {
  const gated = await startGatedHost({ roles: { nothing: { allow: [], deny: [] } } });
  const { key } = gated.keys.create({ id: "right", roles: ["operator"] });
  const server = await startServer(gated.host, { port: 0, routes: [createMcpRoute(gated.host)] });
  return {
    gated,
    key,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await gated[Symbol.asyncDispose]();
      await server.close(0);
    },
  };
}

const cells = Object.keys(wires).flatMap((wire) => Object.keys(columns).map((column) => [wire, column] as const));

test.each(cells)("over %s, no call passes the gate or changes anything with %s", async (wire, name) => {
  const column = columns[name] as Column;
  await using started = await start();
  const { gated, url } = started;
  const agent = await RawAgent.open((wires[wire] as (typeof wires)[string])(gated.host, url));
  const opened = await agent.shakeHands(column.present(gated), gated.host.capabilities);
  expect(opened).toMatchObject({ ok: column.opens === true });
  await column.meanwhile?.(gated);
  const before = await gated.digest();

  // Calls that need no right are refused only without a session.
  const tried = guarded.filter(({ call }) => column.meanwhile || !column.opens || call.about.access !== "none");
  const answers = await Promise.all(tried.map(({ call }) => agent.ask(call.type, call.example.request)));

  const passed = tried.filter((_, index) => !refusals.includes(String(answers[index]?.code)));
  expect(passed.map(({ call }) => call.type)).toEqual([]);
  expect(gated.runs).toEqual([]);
  expect(await gated.digest()).toBe(before);
  await agent.close();
});

test.each(Object.keys(wires))("over %s, every call passes the gate with the right key", async (wire) => {
  await using started = await start();
  const { gated, key, url } = started;
  const agent = await RawAgent.open((wires[wire] as (typeof wires)[string])(gated.host, url));
  expect(await agent.shakeHands(key, gated.host.capabilities)).toMatchObject({ ok: true });

  for (const { capability, call } of guarded) {
    const before = gated.runs.length;
    const { code } = await agent.ask(call.type, call.example.request);
    expect(refusals, call.type).not.toContain(code);
    // The host serves the calls of the core itself.
    if (capability.name !== "core") expect(gated.runs.slice(before), call.type).toContain(call.type);
  }
  await agent.close();
});

const offered = tableCalls.filter(({ call }) => call.asTool !== undefined);

test.each(Object.keys(columns))("over MCP, no call passes the gate with %s", async (name) => {
  const column = columns[name] as Column;
  await using started = await start();
  const { gated, url } = started;
  const token = column.present(gated);
  const connecting = connectSecond(url, "legacy", { token });
  if (!column.opens) return void (await expect(connecting).rejects.toThrow());
  const client = await connecting;
  await column.meanwhile?.(gated);
  const before = gated.runs.length;
  for (const { call } of offered) {
    const params = { name: toToolName(call), arguments: call.example.request as Record<string, unknown> };
    const outcome = await client.callTool(params).then(
      ({ isError }) => isError === true,
      () => true,
    );
    expect(outcome, call.type).toBe(true);
  }
  expect(gated.runs.slice(before)).toEqual([]);
  await client.close();
});

test("over MCP, every call that is offered as a tool passes the gate with the right key", async () => {
  await using started = await start();
  const { gated, key, url } = started;
  const client = await connectSecond(url, "legacy", { token: key });
  for (const { call } of offered) {
    const before = gated.runs.length;
    const params = { name: toToolName(call), arguments: call.example.request as Record<string, unknown> };
    await client.callTool(params).catch(() => undefined);
    expect(gated.runs.slice(before), call.type).toContain(call.type);
  }
  await client.close();
});
