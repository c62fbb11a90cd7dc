import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../protocol/limits.ts";
import { createWildcard } from "../protocol/wildcards/wildcard.ts";
import type { Caveats } from "./caveats.ts";
import { describeToken } from "./describe-token.ts";
import { type Hmac, hmacSha256 } from "./hmac.ts";
import { mintToken } from "./mint-token.ts";
import { narrowToken } from "./narrow-token.ts";
import {
  decodeBytes,
  encodeBytes,
  encodeJson,
  joinToken,
  signLink,
  splitToken,
  type TokenParts,
} from "./token-text.ts";
import { verifyToken } from "./verify-token.ts";

const secret = new Uint8Array(32).fill(7);
const key = { id: "k1", secret };
const root = { id: "tok-1", principal: "key:ci-bot", issued_at: 1_700_000_000 };
const keyOf = (id: string) => (id === "k1" ? secret : undefined);
const nodeHmac: Hmac = (hmacKey, message) => createHmac("sha256", hmacKey).update(message).digest();

function mint(): string {
  return mintToken(key, root);
}

function verified(token: string) {
  const verdict = verifyToken(token, keyOf);
  if (!verdict.ok) throw new Error(verdict.problem);
  return verdict.token;
}

/** Appends a link as a holder would who does not use this library. */
function appendRaw(token: string, link: string): string {
  const parts = splitToken(token) as TokenParts;
  const tail = encodeBytes(signLink(link, decodeBytes(parts.tail), hmacSha256));
  return joinToken({ ...parts, links: [...parts.links, link], tail });
}

const name = fc.string({ maxLength: 8 });
const pattern = name.filter((text) => text !== "" && text.trim() === text);
const names = fc.array(fc.oneof(pattern, fc.constantFrom("*", "read_*", "team-*")), { maxLength: 4 });
const anyCaveats: fc.Arbitrary<Caveats> = fc.record(
  {
    capabilities: names,
    tools: names,
    namespaces: names,
    environments: names,
    budget: fc.record({ calls: fc.nat(), cost_usd: fc.nat() }, { requiredKeys: [] }),
    depth: fc.nat(),
    expires_at: fc.nat(),
    audience: names,
    nonce: fc.string(),
  },
  { requiredKeys: [], noNullPrototype: true },
);

const notNames = "tools: must be a list of names of up to 256 characters";
const listKinds = ["capabilities", "tools", "namespaces", "environments"] as const;

/** The decision as a host makes it: every list of the kind must have a pattern that matches. */
function allows(caveats: readonly Caveats[], kind: (typeof listKinds)[number], asked: string): boolean {
  return caveats.every((link) => link[kind]?.some((pattern) => createWildcard(pattern)(asked)) ?? true);
}

describe("a minted token", () => {
  test("names its principal and has no caveats", () => {
    expect(verified(mint())).toMatchObject({ principalId: "key:ci-bot", chain: ["tok-1"], caveats: [] });
  });

  test("is verified alike with the HMAC of node:crypto", () => {
    const token = narrowToken(mintToken(key, root, nodeHmac), { depth: 1 });
    expect(verifyToken(token, keyOf, { hmac: nodeHmac })).toEqual(verifyToken(token, keyOf));
    expect(verifyToken(token, keyOf).ok).toBe(true);
  });

  test("of an unknown or of another key is refused", () => {
    expect(verifyToken(mintToken({ id: "k2", secret }, root), keyOf)).toEqual({ ok: false, problem: "unknown_key" });
    const other = mintToken({ id: "k1", secret: new Uint8Array(32).fill(8) }, root);
    expect(verifyToken(other, keyOf)).toEqual({ ok: false, problem: "forged" });
  });

  test("carries the ids of the tokens it was minted with at the start of its chain", () => {
    const token = narrowToken(mintToken(key, { ...root, parents: ["a", "b"] }), {});
    expect(verified(token).chain).toEqual(["a", "b", "tok-1", expect.any(String)]);
  });

  test("is not made with a short key", () => {
    expect(() => mintToken({ id: "k1", secret: new Uint8Array(16) }, root)).toThrow("at least 32 bytes");
  });

  test("has a fixed text, so that tokens outlive releases", () => {
    expect(narrowToken(mint(), { tools: ["read_*"] })).toMatchInlineSnapshot(
      `"a2e1.eyJrZXkiOiJrMSIsImlkIjoidG9rLTEiLCJwcmluY2lwYWwiOiJrZXk6Y2ktYm90IiwiaXNzdWVkX2F0IjoxNzAwMDAwMDAwfQ.eyJ0b29scyI6WyJyZWFkXyoiXX0.qzDXLPs0ASTXZX6-wMUez2wHGFPni73QKsEe9VNFROs"`,
    );
  });
});

describe("a narrowed token", () => {
  test("has the caveats of its parent and its own", () => {
    fc.assert(
      fc.property(fc.array(anyCaveats, { maxLength: 6 }), (list) => {
        let token = mint();
        for (const caveats of list) token = narrowToken(token, caveats);
        expect(JSON.stringify(verified(token).caveats)).toBe(JSON.stringify(list));
      }),
    );
  });

  test("never allows a name that its parent does not allow", () => {
    fc.assert(
      fc.property(anyCaveats, anyCaveats, fc.constantFrom(...listKinds), name, (first, second, kind, asked) => {
        const parent = narrowToken(mint(), first);
        const child = narrowToken(parent, second);
        const isAllowed = allows(verified(child).caveats, kind, asked);
        expect(!isAllowed || allows(verified(parent).caveats, kind, asked)).toBe(true);
      }),
    );
  });

  test("allows the same names in whichever order its caveats were added", () => {
    fc.assert(
      fc.property(anyCaveats, anyCaveats, fc.constantFrom(...listKinds), name, (first, second, kind, asked) => {
        const one = verified(narrowToken(narrowToken(mint(), first), second)).caveats;
        const other = verified(narrowToken(narrowToken(mint(), second), first)).caveats;
        expect(allows(one, kind, asked)).toBe(allows(other, kind, asked));
      }),
    );
  });

  test("repeats the ids of its parents, and none of them reveals a tail", () => {
    const parent = narrowToken(mint(), { depth: 2 });
    const child = narrowToken(parent, { depth: 1 });
    const { chain } = verified(child);
    expect(chain).toHaveLength(3);
    expect(chain.slice(0, 2)).toEqual(verified(parent).chain);
    for (const id of chain) expect(`${parent}${child}`).not.toContain(id);
  });

  test("has an id of its own only if its caveats differ, which a nonce ensures", () => {
    const ids = [{ depth: 1 }, { depth: 1 }, { depth: 1, nonce: "b" }].map((caveats) =>
      verified(narrowToken(mint(), caveats)).chain.at(-1),
    );
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test("has the budgets of its parents with the ids that they are charged to, and its own", () => {
    const first = { id: "a", budget: { calls: 100 } };
    const minted = mintToken(key, { ...root, parents: ["a"], budgets: [first] });
    const parent = narrowToken(minted, { budget: { calls: 10 } });
    const { chain, budgets } = verified(narrowToken(narrowToken(parent, { depth: 1 }), { budget: { calls: 99 } }));
    expect(budgets).toEqual([
      first,
      { id: verified(parent).chain.at(-1), budget: { calls: 10 } },
      { id: chain.at(-1), budget: { calls: 99 } },
    ]);
  });

  test("is refused with any of its characters changed", () => {
    const token = narrowToken(narrowToken(mint(), { tools: ["read_*"] }), { expires_at: 1_800_000_000 });
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ é\n";
    for (let index = 0; index < token.length; index++) {
      for (const character of alphabet) {
        if (character === token[index]) continue;
        const changed = token.slice(0, index) + character + token.slice(index + 1);
        if (verifyToken(changed, keyOf).ok) expect.fail(`accepted with ${character} at ${index}`);
      }
    }
  });

  test("is refused with a link removed, repeated or moved", () => {
    const token = narrowToken(narrowToken(mint(), { tools: ["a"] }), { tools: ["b"] });
    const parts = splitToken(token) as TokenParts;
    const [first = "", second = ""] = parts.links;
    for (const links of [[], [first], [second], [second, first], [first, first, second], [first, second, second]]) {
      expect(verifyToken(joinToken({ ...parts, links }), keyOf)).toEqual({ ok: false, problem: "forged" });
    }
    expect(verifyToken(token.slice(0, -1), keyOf).ok).toBe(false);
    expect(verifyToken(`${token}A`, keyOf).ok).toBe(false);
  });

  test.each([
    ["an unknown caveat", { color: ["red"] }, 'unknown caveat "color"'],
    ["an unknown amount in the budget", { budget: { wishes: 3 } }, 'budget: unknown caveat "wishes"'],
    ["a name that every object has", { constructor: [] }, 'unknown caveat "constructor"'],
    ["a list that is not a list", { tools: "read_*" }, notNames],
    ["a list of numbers", { tools: [1] }, notNames],
    ["an empty name", { tools: [""] }, notNames],
    ["a name with a space at its end", { tools: ["read "] }, notNames],
    ["a name of 257 characters", { tools: ["x".repeat(257)] }, notNames],
    ["a negative depth", { depth: -1 }, "depth: must be a whole number from 0"],
    ["an expiry that is not a number", { expires_at: null }, "expires_at: must be a number of at least 0"],
    ["a list instead of an object", ["tools"], "must be an object"],
  ])("with %s is refused", (_, value, detail) => {
    const token = appendRaw(mint(), encodeJson(value));
    expect(verifyToken(token, keyOf)).toEqual({ ok: false, problem: "unknown_caveat", detail });
    expect(() => narrowToken(mint(), value as Caveats)).toThrow(detail);
  });

  test("with a caveat named __proto__, or with a link that is not JSON, is refused", () => {
    for (const link of [encodeBytes(new TextEncoder().encode('{"__proto__":{"tools":[]}}')), "id", "_w", "A"]) {
      expect(verifyToken(appendRaw(mint(), link), keyOf)).toMatchObject({ ok: false, problem: "unknown_caveat" });
    }
  });
});

describe("a text that is not a token", () => {
  test("is refused without an exception, whatever it is", () => {
    const anyText = fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes));
    const hostile = fc.oneof(
      anyText,
      anyText.map((text) => `a2e1.${text}`),
      fc.array(fc.base64String(), { maxLength: 5 }).map((parts) => `a2e1.${parts.join(".")}`),
      fc.json().map((json) => `a2e1.${encodeBytes(new TextEncoder().encode(json))}.${"A".repeat(43)}`),
    );
    fc.assert(
      fc.property(hostile, (text) => {
        expect(verifyToken(text, keyOf).ok).toBe(false);
        expect(() => describeToken(text)).not.toThrow();
      }),
    );
  });
});

describe("sizes are limited", () => {
  test("a token is narrowed at most maxTokenLinks times", () => {
    const limits = { ...defaultLimits, maxTokenLinks: 2 };
    const twice = narrowToken(narrowToken(mint(), {}), {});
    expect(verifyToken(twice, keyOf, { limits }).ok).toBe(true);
    expect(() => narrowToken(twice, {}, limits)).toThrow("it would be too large");
    expect(verifyToken(narrowToken(twice, {}), keyOf, { limits })).toEqual({ ok: false, problem: "too_large" });
  });

  test("a token has at most maxTokenBytes", () => {
    const token = mint();
    expect(verifyToken(token, keyOf, { limits: { ...defaultLimits, maxTokenBytes: token.length } }).ok).toBe(true);
    const limits = { ...defaultLimits, maxTokenBytes: token.length - 1 };
    expect(verifyToken(token, keyOf, { limits })).toEqual({ ok: false, problem: "too_large" });
    expect(() => narrowToken(token, { nonce: "x".repeat(defaultLimits.maxTokenBytes) })).toThrow("too large");
  });
});

test("describeToken shows principal and caveats, and leaves out caveats that it does not know", () => {
  const token = appendRaw(narrowToken(mint(), { tools: ["a"] }), encodeJson({ color: 1 }));
  expect(describeToken(token)).toEqual({ root: { key: "k1", ...root }, links: [{ tools: ["a"] }, undefined] });
  expect(describeToken("a2e_key")).toBeUndefined();
});
