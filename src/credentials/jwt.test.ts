import fc from "fast-check";
import { exportSPKI, SignJWT, UnsecuredJWT } from "jose";
import { beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../plugin/logger.ts";
import { defaultLimits } from "../protocol/limits.ts";
import type { Credential, ProvenIdentity, Refusal } from "./credential.ts";
import { audience, createTestIssuer, issuer } from "./jwt.suite.ts";
import { createJwts, type JwtIssuer, type JwtOptions } from "./jwt.ts";

const start = Date.parse("2026-05-04T10:00:00Z");
let now = start;
const clock = { now: () => now };
let authority: Awaited<ReturnType<typeof createTestIssuer>>;

beforeEach(async () => {
  now = start;
  authority = await createTestIssuer(() => now);
});

function createKind(settings: Partial<JwtIssuer> = {}, options: Partial<JwtOptions> = {}): Credential {
  const issuers = [{ issuer, audience: [audience], ...settings }];
  return createJwts({ issuers, clock, fetch: authority.fetch, log: silentLogger, ...options });
}

async function present(token: string, kind = createKind()): Promise<ProvenIdentity | Refusal> {
  const presented = { token, agentId: "claimed" };
  expect(kind.recognises(presented)).toBe(true);
  return kind.authenticate(presented);
}

const seconds = () => Math.floor(now / 1000);
const jwksUri = `${issuer}/jwks`;

describe("a JWT", () => {
  test("names its principal by issuer and subject, with roles and agent of its claims", async () => {
    const claims = { roles: "agent observer", scope: "tools/*", agent: "planner" };
    const kind = createKind({ claims: { scopes: "scope", agent: "agent" } });
    expect(await present(await authority.sign(claims), kind)).toEqual({
      id: "https://as.example|alice",
      isAuthenticated: true,
      roles: ["agent", "observer"],
      scopes: ["tools/*"],
      agentId: "planner",
      expiresAt: start + 330_000,
      chain: ["https://as.example|alice"],
    });
  });

  test("has roles in nested claims, and in claims whose names have dots", async () => {
    const nested = { realm_access: { roles: ["agent", 7] }, "https://a.example/roles": ["observer"] };
    const token = await authority.sign(nested);
    const rolesOf = async (roles: string) =>
      ((await present(token, createKind({ claims: { roles } }))) as ProvenIdentity).roles;
    expect(await rolesOf("realm_access.roles")).toEqual(["agent"]);
    expect(await rolesOf("https://a.example/roles")).toEqual(["observer"]);
    expect(await rolesOf("constructor.name")).toEqual([]);
  });

  test("may have a list of audiences, and the host several names", async () => {
    const token = await authority.sign({ aud: ["other", audience] });
    expect(await present(token)).toMatchObject({ id: "https://as.example|alice" });
    expect(await present(token, createKind({ audience: ["http://localhost:8765/mcp", audience] }))).toHaveProperty(
      "id",
    );
  });

  test.each([
    ["another audience", { aud: "https://other.example" }],
    ["no audience", { aud: undefined }],
    ["another issuer", { iss: "https://other.example" }],
    ["an issuer that differs by a slash", { iss: `${issuer}/` }],
    ["no issuer", { iss: undefined }],
    ["no expiry", { exp: undefined }],
    ["no subject", { sub: undefined }],
    ["an empty subject", { sub: "" }],
    ["a subject of 513 characters", { sub: "x".repeat(513) }],
  ])("with %s is wrong", async (_, claims) => {
    expect(await present(await authority.sign(claims))).toMatchObject({ refused: "wrong" });
  });

  test("that is an ID token is wrong, unless the type is not checked", async () => {
    const token = await authority.sign({}, { header: { typ: "JWT" } });
    expect(await present(token)).toMatchObject({ refused: "wrong" });
    expect(await present(token, createKind({ typ: "JWT" }))).toHaveProperty("id");
    expect(
      await present(await authority.sign({}, { header: { typ: undefined } }), createKind({ typ: "any" })),
    ).toHaveProperty("id");
  });

  test.each([
    [29, "id"],
    [31, "refused"],
  ])("is accepted up to 30 seconds after it has expired and before it is valid: %i seconds", async (skew, outcome) => {
    expect(await present(await authority.sign({ exp: seconds() - skew }))).toHaveProperty(outcome);
    expect(await present(await authority.sign({ nbf: seconds() + skew }))).toHaveProperty(outcome);
  });

  test("that has expired is refused as expired, also after it was accepted", async () => {
    const kind = createKind();
    const token = await authority.sign();
    expect(await present(token, kind)).toHaveProperty("id");
    now += 331_000;
    expect(await present(token, kind)).toMatchObject({ refused: "expired" });
  });

  test("without a signature is wrong", async () => {
    const unsigned = new UnsecuredJWT({ sub: "alice" }).setIssuer(issuer).setAudience(audience).setExpirationTime("5m");
    expect(await present(unsigned.encode())).toMatchObject({ refused: "wrong" });
  });

  test("that uses the public key as a shared secret is wrong", async () => {
    const { publicKey } = await authority.addKey("k1");
    const secret = new TextEncoder().encode(await exportSPKI(publicKey));
    const forged = await new SignJWT({ iss: issuer, aud: audience, sub: "alice", exp: seconds() + 300 })
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: "k1" })
      .sign(secret);
    expect(await present(forged)).toMatchObject({ refused: "wrong" });
  });

  test("of an algorithm that is not listed, or signed by another key under a known name, is wrong", async () => {
    expect(await present(await authority.sign(), createKind({ algorithms: ["RS256"] }))).toMatchObject({
      refused: "wrong",
    });
    const stranger = await createTestIssuer(() => now);
    expect(await present(await stranger.sign())).toMatchObject({
      refused: "wrong",
      detail: "signature verification failed",
    });
  });

  test("with any of its parts changed is wrong", async () => {
    const kind = createKind();
    const token = await authority.sign();
    for (let index = 0; index < token.length; index += 7) {
      if (token[index] === ".") continue;
      const changed = token.slice(0, index) + (token[index] === "A" ? "B" : "A") + token.slice(index + 1);
      expect(await present(changed, kind)).toMatchObject({ refused: "wrong" });
    }
  });

  test("of hostile parts is wrong, without an exception", async () => {
    const kind = createKind();
    const encode = (text: string) => Buffer.from(text).toString("base64url");
    const part = fc.oneof(fc.string({ minLength: 1 }), fc.json()).map((text) => encode(text));
    const header = fc
      .record({
        alg: fc.constantFrom("ES256", "none", "HS256", "", "__proto__"),
        kid: fc.string(),
        crit: fc.anything(),
      })
      .map((value) => encode(JSON.stringify(value)));
    const claims = fc
      .record({ iss: fc.constantFrom(issuer, 7, null), aud: fc.jsonValue(), sub: fc.jsonValue(), exp: fc.jsonValue() })
      .map((value) => encode(JSON.stringify(value)));
    const hostile = fc.tuple(fc.oneof(part, header), fc.oneof(part, claims), part).map((parts) => parts.join("."));
    await fc.assert(
      fc.asyncProperty(hostile, async (token) => {
        if (!kind.recognises({ token, agentId: "" })) return;
        expect(await kind.authenticate({ token, agentId: "" })).toMatchObject({ refused: "wrong" });
      }),
    );
  });

  test("is recognised by its three parts, up to maxTokenBytes", () => {
    const kind = createKind({}, { limits: { ...defaultLimits, maxTokenBytes: 9 } });
    const isRecognised = (token: string) => kind.recognises({ token, agentId: "" });
    expect(["aa.bb.cc", "a.b."].map(isRecognised)).toEqual([true, true]);
    expect(["", "a.b", "a.b.c.d", "a..c", "aaaa.bb.cc", "ä.b.c", "a.b.c\n"].map(isRecognised)).not.toContain(true);
  });
});

describe("the keys of an issuer", () => {
  test("are found by discovery, and fetched once for many tokens", async () => {
    const kind = createKind();
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => authority.sign({ sub: `a${index}` })));
    const outcomes = await Promise.all(tokens.map((token) => present(token, kind)));
    expect(outcomes.every((outcome) => "id" in outcome)).toBe(true);
    expect(authority.requests).toEqual([`${issuer}/.well-known/openid-configuration`, jwksUri]);
  });

  test("are found with the metadata of OAuth 2.0 as well, and at a configured address without any", async () => {
    authority.answers.delete(`${issuer}/.well-known/openid-configuration`);
    const place = `${issuer}/.well-known/oauth-authorization-server`;
    authority.answers.set(place, () => Response.json({ issuer, jwks_uri: jwksUri }));
    expect(await present(await authority.sign())).toHaveProperty("id");
    authority.answers.delete(place);
    expect(await present(await authority.sign(), createKind({ jwksUri }))).toHaveProperty("id");
  });

  test("are not taken from the metadata of another issuer, or from a plain address of another machine", async () => {
    for (const metadata of [
      { issuer: "https://other.example", jwks_uri: jwksUri },
      { issuer, jwks_uri: "http://as.example/jwks" },
      { issuer },
    ]) {
      authority.answers.set(`${issuer}/.well-known/openid-configuration`, () => Response.json(metadata));
      expect(await present(await authority.sign())).toMatchObject({ refused: "server_error" });
    }
  });

  test("are fetched again for a token of a new key, at most every 30 seconds", async () => {
    const kind = createKind({ jwksUri });
    expect(await present(await authority.sign(), kind)).toHaveProperty("id");
    await authority.addKey("k2");
    expect(await present(await authority.sign({}, { kid: "k2" }), kind)).toMatchObject({ refused: "wrong" });
    now += 30_000;
    const unknown = (await createTestIssuer(() => now)).addKey("k3");
    const tokens = [await authority.sign({ sub: "b" }, { kid: "k2" })];
    for (let index = 0; index < 5; index++) {
      tokens.push(await authority.sign({ jti: `${index}` }, { kid: "k3", key: (await unknown).privateKey }));
    }
    const outcomes = await Promise.all(tokens.map((token) => present(token, kind)));
    expect(outcomes.map((outcome) => "id" in outcome)).toEqual([true, false, false, false, false, false]);
    expect(authority.requests).toEqual([jwksUri, jwksUri]);
  });

  test("that were removed are not honoured for longer than 10 minutes", async () => {
    const kind = createKind({ jwksUri });
    const token = await authority.sign({ exp: seconds() + 3600 });
    expect(await present(token, kind)).toHaveProperty("id");
    authority.removeKey("k1");
    now += 10 * 60_000 + 1;
    expect(await present(token, kind)).toMatchObject({ refused: "wrong" });
  });

  test("are used for an hour while the issuer is down, and then the host cannot decide", async () => {
    const kind = createKind({ jwksUri });
    await present(await authority.sign(), kind);
    authority.answers.clear();
    now += 59 * 60_000;
    expect(await present(await authority.sign(), kind)).toHaveProperty("id");
    now += 2 * 60_000;
    expect(await present(await authority.sign(), kind)).toMatchObject({ refused: "server_error" });
    expect(authority.requests).toHaveLength(3);
  });

  test.each<[string, () => Response | Promise<Response>]>([
    ["that refuses connections", () => Promise.reject(new TypeError("fetch failed"))],
    ["that answers with an error", () => new Response("{}", { status: 500 })],
    ["that answers with a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["that answers with a list", () => Response.json([])],
    ["that answers without keys", () => Response.json({})],
    ["whose keys are not keys", () => Response.json({ keys: [7] })],
  ])("of an issuer %s cannot be used, which is not the fault of the token", async (_, answer) => {
    authority.answers.set(jwksUri, answer);
    const kind = createKind({ jwksUri });
    expect(await present(await authority.sign(), kind)).toMatchObject({
      refused: "server_error",
      detail: expect.stringContaining("https://as.example"),
    });
    await present(await authority.sign({ sub: "b" }), kind);
    expect(authority.requests).toHaveLength(1);
    authority.answers.set(jwksUri, async () => Response.json(await authority.readKeys()));
    now += 30_000;
    expect(await present(await authority.sign(), kind)).toHaveProperty("id");
  });

  test("are limited to maxIssuerBytes, and the rest is not read", async () => {
    let isCancelled = false;
    const body = () =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(1000).fill(32)),
        cancel: () => {
          isCancelled = true;
        },
      });
    authority.answers.set(jwksUri, () => new Response(body()));
    const kind = createKind({ jwksUri }, { limits: { ...defaultLimits, maxIssuerBytes: 5000 } });
    const outcome = await present(await authority.sign(), kind);
    expect(outcome).toMatchObject({ refused: "server_error", detail: expect.stringContaining("more than 5000 bytes") });
    expect(isCancelled).toBe(true);
  });

  test("are given up after issuerTimeoutMs", async () => {
    authority.answers.set(
      jwksUri,
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    );
    const kind = createKind({ jwksUri }, { limits: { ...defaultLimits, issuerTimeoutMs: 20 } });
    expect(await present(await authority.sign(), kind)).toMatchObject({ refused: "server_error" });
  });
});

describe("a verified JWT", () => {
  test("is answered at once when it is presented again, for at most maxVerifiedTokens", async () => {
    const kind = createKind({}, { limits: { ...defaultLimits, maxVerifiedTokens: 2 } });
    const tokens = await Promise.all(["a", "b", "c"].map((sub) => authority.sign({ sub })));
    for (const token of tokens) await present(token, kind);
    const outcomes = tokens.map((token) => kind.authenticate({ token, agentId: "" }));
    expect(outcomes.map((outcome) => outcome instanceof Promise)).toEqual([true, false, false]);
    expect(outcomes[2]).toMatchObject({ id: "https://as.example|c" });
    await outcomes[0];
  });
});

describe("an issuer is not accepted", () => {
  test.each<[string, Partial<JwtIssuer>, RegExp]>([
    ["without an audience", { audience: [] }, /needs an audience/],
    ["at a plain address of another machine", { issuer: "http://as.example" }, /must be an https address/],
    ["with keys at such an address", { jwksUri: "http://as.example/jwks" }, /must be an https address/],
    ["with a shared secret", { algorithms: ["ES256", "HS256"] }, /must not use HS256/],
    ["without signatures", { algorithms: ["none"] }, /must not use none/],
    ["with a bar in its name", { issuer: "https://as.example/a|b" }, /must not contain "\|"/],
  ])("%s", (_, settings, message) => {
    expect(() => createKind(settings)).toThrow(message);
  });
});
