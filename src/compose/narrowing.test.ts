// Narrowed tokens from end to end: minted, narrowed by their holders, presented in a handshake, decided at the gate.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RoleRules } from "../rights/roles.ts";
import { tableCalls } from "../rights/table-calls.suite.ts";
import type { Caveats } from "../tokens/caveats.ts";
import { narrowToken } from "../tokens/narrow-token.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { type GatedHost, startGatedHost } from "./gated-host.suite.ts";
import { RawAgent } from "./raw-agent.suite.ts";

/** The calls of the core are left out: they make sessions of their own. */
const calls = tableCalls.filter(({ capability }) => capability.name !== "core").map(({ call }) => call);

const capabilityNames = [...new Set(tableCalls.map(({ capability }) => capability.name))];
const names = fc.constantFrom("*", "read_*", "js_eval", "web_search", "cartpole", "notes", "team-*", "default");
const pattern = fc.oneof(
  fc.constantFrom("*", "*:read", "*:write", ...capabilityNames.map((name) => `${name}/*`)),
  fc.tuple(fc.constantFrom("tool", "env", "ns"), names).map(([kind, name]) => `${kind}:${name}`),
);
const patterns = fc.array(pattern, { maxLength: 4 });
const rules = fc.record({ allow: patterns.map((allow) => ["*:read", ...allow]), deny: patterns });
const list = fc.array(names, { maxLength: 3 });
const link: fc.Arbitrary<Caveats> = fc.record(
  {
    capabilities: fc.array(fc.constantFrom("*", ...capabilityNames), { maxLength: 6 }),
    tools: list,
    namespaces: list,
    environments: list,
    depth: fc.nat(3),
  },
  { requiredKeys: [] },
);

/** The types of the calls that a session with this token may make. */
async function allowedWith({ host, log }: GatedHost, token: string): Promise<string[]> {
  const agent = await RawAgent.open(createDirectTransport(() => host.sessions.create()));
  const opened = await agent.shakeHands(token, host.capabilities);
  expect(opened, JSON.stringify(log.entries.at(-1))).toMatchObject({ ok: true });
  const answers = await Promise.all(calls.map(({ type, example }) => agent.ask(type, example.request)));
  await agent.close();
  return calls.filter((_, index) => answers[index]?.code !== "forbidden").map(({ type }) => type);
}

test("each link of a narrowed token allows a part of what the token before it allows, in any order", async () => {
  const roles: Record<string, RoleRules> = {};
  await using gated = await startGatedHost({ roles, limits: { maxParallelCalls: 64, maxQueuedCalls: 1000 } });
  let count = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(rules, fc.array(link, { minLength: 1, maxLength: 3 }), async (role, links) => {
      count += 1;
      const id = `k${count}`;
      roles[id] = role;
      const { key } = gated.keys.create({ id, roles: [id] });
      const whole = await allowedWith(gated, key);
      const minted = gated.mint(id);
      expect(await allowedWith(gated, minted)).toEqual(whole);

      let token = minted;
      let before = whole;
      for (const caveats of links) {
        token = narrowToken(token, caveats);
        const allowed = await allowedWith(gated, token);
        expect(before).toEqual(expect.arrayContaining(allowed));
        refused += before.length - allowed.length;
        before = allowed;
      }
      const reversed = links.toReversed().reduce((narrowed, caveats) => narrowToken(narrowed, caveats), minted);
      expect(await allowedWith(gated, reversed)).toEqual(before);
    }),
    { numRuns: 25 },
  );
  // The property would also hold if caveats were ignored.
  expect(refused).toBeGreaterThan(0);
});

test("a token with one character changed opens no session", async () => {
  await using gated = await startGatedHost();
  gated.keys.create({ id: "right", roles: ["operator"] });
  const token = gated.mint("right", { tools: ["read_*"] });
  await fc.assert(
    fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom("A", "b", "0", "_", ".", " "), async (at, other) => {
      fc.pre(token[at] !== other);
      const agent = await RawAgent.open(createDirectTransport(() => gated.host.sessions.create()));
      const changed = token.slice(0, at) + other + token.slice(at + 1);
      expect(await agent.shakeHands(changed, ["tools"])).toMatchObject({ ok: false, reason: "auth_failed" });
      await agent.close();
    }),
  );
});
