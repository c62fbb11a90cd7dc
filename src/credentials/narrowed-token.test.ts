import { describe, expect, test } from "vitest";
import type { Caveats } from "../tokens/caveats.ts";
import { narrowToken } from "../tokens/narrow-token.ts";
import type { ProvenIdentity, Refusal } from "./credential.ts";
import { createNarrowedTokens, type NarrowedTokensOptions } from "./narrowed-token.ts";

const start = Date.parse("2026-05-04T10:00:00Z");
let now = start;
const clock = { now: () => now };
const key = { id: "k1", secret: new Uint8Array(32).fill(7) };
const ciBot: ProvenIdentity = { id: "key:ci-bot", isAuthenticated: true, roles: ["agent"], chain: ["key:ci-bot"] };
const alice: ProvenIdentity = {
  id: "https://as.example|alice",
  isAuthenticated: true,
  roles: ["observer"],
  chain: ["https://as.example|alice"],
};

function tokens(options: Partial<NarrowedTokensOptions> = {}) {
  now = start;
  const identityOf = (id: string) => (id === ciBot.id ? ciBot : undefined);
  return createNarrowedTokens({ keys: [key], identityOf, clock, ...options });
}

function accepted(kind: ReturnType<typeof tokens>, token: string): ProvenIdentity {
  return kind.authenticate({ token, agentId: "a", audience: ["host-a"] }) as ProvenIdentity;
}

describe("a narrowed token", () => {
  test("acts for the principal that it was minted for, with its caveats", () => {
    const kind = tokens();
    const token = narrowToken(kind.mint(ciBot), { tools: ["read_*"], budget: { calls: 3 } });
    const identity = accepted(kind, token);
    expect(identity).toMatchObject({ ...ciBot, chain: ["key:ci-bot", expect.any(String), expect.any(String)] });
    expect(identity.caveats).toEqual([{ tools: ["read_*"], budget: { calls: 3 } }]);
    expect(identity.budgets).toEqual([{ id: identity.chain.at(-1), budget: { calls: 3 } }]);
  });

  test("has the roles that its principal has now", () => {
    let owner: ProvenIdentity | Refusal = ciBot;
    const kind = tokens({ identityOf: () => owner });
    const token = kind.mint(ciBot);
    owner = { ...ciBot, roles: ["observer"] };
    expect(accepted(kind, token).roles).toEqual(["observer"]);
    owner = { refused: "revoked" };
    expect(accepted(kind, token)).toEqual({ refused: "revoked" });
  });

  test("keeps the roles of minting if only the credential of its principal knows them", () => {
    const kind = tokens();
    expect(accepted(kind, kind.mint(alice))).toMatchObject({ id: alice.id, roles: ["observer"] });
  });

  test("is refused if its principal was removed", () => {
    const kind = tokens();
    const token = kind.mint(ciBot);
    expect(accepted(tokens({ identityOf: () => undefined }), token)).toMatchObject({ refused: "revoked" });
  });

  test("expires at the earliest time of its caveats and its principal", () => {
    const expiresAt = start + 10_000;
    const kind = tokens({ identityOf: () => ({ ...ciBot, expiresAt }) });
    const token = narrowToken(kind.mint(ciBot, { expires_at: start / 1000 + 20 }), { expires_at: start / 1000 + 5 });
    expect(accepted(kind, token).expiresAt).toBe(start + 5_000);
    expect(accepted(kind, kind.mint(ciBot)).expiresAt).toBe(expiresAt);
    now = start + 5_000;
    expect(accepted(kind, token)).toMatchObject({ refused: "expired" });
  });

  test("is accepted only by hosts that every audience names", () => {
    const kind = tokens();
    const token = kind.mint(ciBot, { audience: ["host-a", "host-b"] });
    expect(accepted(kind, token)).toMatchObject({ id: ciBot.id });
    expect(accepted(kind, narrowToken(token, { audience: ["host-b"] }))).toMatchObject({ refused: "wrong" });
    expect(kind.authenticate({ token, agentId: "a" })).toMatchObject({ refused: "wrong" });
  });

  test("is revoked with any token of its chain", () => {
    const kind = tokens();
    const parent = narrowToken(kind.mint(ciBot), { depth: 2 });
    const child = narrowToken(parent, { depth: 1 });
    const parentId = accepted(kind, parent).chain.at(-1);
    const revoking = tokens({ isRevoked: (id) => id === parentId });
    expect(accepted(revoking, child)).toMatchObject({ refused: "revoked" });
    expect(accepted(revoking, kind.mint(accepted(kind, child)))).toMatchObject({ refused: "revoked" });
  });

  test("of an older key is accepted as long as the key is listed", () => {
    const token = tokens().mint(ciBot);
    const next = { id: "k2", secret: new Uint8Array(32).fill(8) };
    expect(accepted(tokens({ keys: [next, key] }), token)).toMatchObject({ id: ciBot.id });
    expect(accepted(tokens({ keys: [next] }), token)).toEqual({ refused: "wrong", detail: "unknown key" });
  });

  test("that was changed, or has an unknown caveat, is wrong", () => {
    const kind = tokens();
    const token = kind.mint(ciBot, { depth: 1 });
    const changed = token.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    expect(accepted(kind, changed)).toEqual({ refused: "wrong", detail: "forged" });
    expect(kind.recognises({ token, agentId: "" })).toBe(true);
    expect(kind.recognises({ token: "a2e_x_y", agentId: "" })).toBe(false);
  });
});

describe("a token that is minted for the holder of a narrowed token", () => {
  test("has all of its restrictions, and shares its budgets instead of starting new ones", () => {
    const kind = tokens();
    const first: Caveats = { tools: ["read_*"], expires_at: start / 1000 + 60 };
    const holder = accepted(kind, narrowToken(kind.mint(ciBot, first), { budget: { calls: 10 }, depth: 1 }));
    const child = accepted(kind, kind.mint(holder, { depth: 0 }));
    expect(child.chain.slice(0, holder.chain.length)).toEqual(holder.chain);
    expect(child.budgets).toEqual(holder.budgets);
    expect(child.caveats).toEqual([first, { depth: 1 }, { depth: 0 }]);
    expect(child.expiresAt).toBe(holder.expiresAt);
  });

  test("expires with its principal", () => {
    const kind = tokens();
    const expiresAt = start + 1_500;
    expect(accepted(kind, kind.mint({ ...alice, expiresAt }))).toMatchObject({ expiresAt });
  });
});
