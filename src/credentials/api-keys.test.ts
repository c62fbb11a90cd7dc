import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../plugin/logger.ts";
import type { Database } from "../plugin/ports/database.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createApiKeyText, hashApiKey, idOfApiKey, isApiKeyId } from "./api-key-text.ts";
import { type ApiKeys, createApiKeys } from "./api-keys.ts";

let now = 0;
let database: Database;
let keys: ApiKeys;
const clock = { now: () => now };

beforeEach(async () => {
  now = Date.parse("2026-05-04T10:00:00Z");
  database = await createSqliteDatabase({ path: ":memory:" });
  keys = createApiKeys({ database, clock, log: silentLogger });
});

afterEach(async () => {
  keys.close();
  await database.close();
});

function present(token: string) {
  const presented = { token, agentId: "whoever" };
  return keys.recognises(presented) ? keys.authenticate(presented) : "not recognised";
}

describe("a key", () => {
  test("names its principal, with roles, scopes, label and expiry", () => {
    const expiresAt = now + 1000;
    const { key, record } = keys.create({
      id: "ci-bot",
      label: "build server",
      roles: ["agent"],
      scopes: ["tools/*"],
      expiresAt,
    });
    expect(key).toMatch(/^a2e_ci-bot_[0-9a-f]{64}$/);
    expect(record).not.toHaveProperty("hash");
    expect(present(key)).toEqual({
      id: "key:ci-bot",
      isAuthenticated: true,
      roles: ["agent"],
      scopes: ["tools/*"],
      label: "build server",
      expiresAt,
      chain: ["key:ci-bot"],
    });
  });

  test("is stored as a hash only", () => {
    const { key } = keys.create({ id: "ci-bot", roles: [] });
    const rows = database.prepare("SELECT * FROM api_key").all();
    expect(Buffer.from(rows[0]?.hash as Uint8Array)).toEqual(hashApiKey(key));
    expect(JSON.stringify([rows, keys.list()])).not.toContain(key.slice(-64));
  });

  test("of another secret or of an unknown id is wrong", () => {
    const { key } = keys.create({ id: "ci-bot", roles: [] });
    const other = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
    expect(present(other)).toEqual({ refused: "wrong" });
    expect(present(createApiKeyText("nobody"))).toEqual({ refused: "wrong" });
    expect(present(key.replace("ci-bot", "ci-bat"))).toEqual({ refused: "wrong" });
  });

  test("expires at its time", () => {
    const { key } = keys.create({ id: "ci-bot", roles: [], expiresAt: now + 1000 });
    now += 999;
    expect(present(key)).toMatchObject({ id: "key:ci-bot" });
    now += 1;
    expect(present(key)).toMatchObject({ refused: "expired" });
  });

  test("that is revoked is refused as revoked, and only to its holder", () => {
    const { key } = keys.create({ id: "ci-bot", roles: [] });
    expect(keys.revoke("ci-bot").revokedAt).toBe(now);
    expect(present(key)).toMatchObject({ refused: "revoked" });
    expect(present(createApiKeyText("ci-bot"))).toEqual({ refused: "wrong" });
    now += 5000;
    expect(keys.revoke("ci-bot").revokedAt).toBe(now - 5000);
  });

  test("that is rotated keeps its principal, and its old secret is wrong", () => {
    const before = keys.create({ id: "ci-bot", label: "build", roles: ["agent"], expiresAt: now + 1000 });
    const after = keys.rotate("ci-bot");
    expect(present(before.key)).toEqual({ refused: "wrong" });
    expect(present(after.key)).toMatchObject({ id: "key:ci-bot", roles: ["agent"], expiresAt: now + 1000 });
    now += 2000;
    expect(() => keys.rotate("ci-bot")).toThrow('the API key "ci-bot" has expired: name a new time');
    expect(present(keys.rotate("ci-bot", { expiresAt: now + 1 }).key)).toMatchObject({ id: "key:ci-bot" });
  });

  test("cannot be made twice, not even after it was revoked", () => {
    keys.create({ id: "ci-bot", roles: [] });
    expect(() => keys.create({ id: "ci-bot", roles: [] })).toThrow('already an API key "ci-bot": rotate it');
    keys.revoke("ci-bot");
    expect(() => keys.create({ id: "ci-bot", roles: [] })).toThrow("cannot be used again");
    expect(() => keys.rotate("ci-bot")).toThrow("is revoked: create another");
    expect(() => keys.revoke("ci-bat")).toThrow('there is no API key "ci-bat"');
  });

  test("is answered with a server error if the database fails", async () => {
    const { key } = keys.create({ id: "ci-bot", roles: [] });
    await database.close();
    expect(present(key)).toMatchObject({ refused: "server_error" });
    expect(keys.identityOf("key:ci-bot")).toMatchObject({ refused: "server_error" });
  });
});

describe("the last use of a key", () => {
  test("is written at most once a minute", () => {
    const { key } = keys.create({ id: "ci-bot", roles: [] });
    const lastUse = () => keys.list()[0]?.lastUsedAt;
    expect(lastUse()).toBeUndefined();
    const first = now;
    present(key);
    expect(lastUse()).toBe(first);
    now += 59_999;
    present(key);
    expect(lastUse()).toBe(first);
    now += 1;
    present(key);
    expect(lastUse()).toBe(now);
  });

  test("is not counted for a wrong secret", () => {
    keys.create({ id: "ci-bot", roles: [] });
    present(createApiKeyText("ci-bot"));
    expect(keys.list()[0]?.lastUsedAt).toBeUndefined();
  });
});

describe("onRevoked", () => {
  test("reports each revoked and rotated key once, until it is removed", () => {
    for (const id of ["a", "b", "c"]) keys.create({ id, roles: [] });
    keys.revoke("a");
    const reported: unknown[] = [];
    const remove = keys.onRevoked((revocation) => reported.push(revocation));
    keys.revoke("b");
    keys.revoke("b");
    keys.rotate("c");
    remove();
    keys.revoke("c");
    expect(reported).toEqual([
      { principalId: "key:b", reason: "revoked" },
      { principalId: "key:c", reason: "rotated" },
    ]);
  });

  test("reports to all listeners, even if one of them throws", () => {
    keys.create({ id: "a", roles: [] });
    const reported: string[] = [];
    keys.onRevoked(() => {
      throw new Error("broken");
    });
    keys.onRevoked(({ principalId }) => reported.push(principalId));
    keys.revoke("a");
    expect(reported).toEqual(["key:a"]);
  });
});

describe("identityOf", () => {
  test("returns the present rights of a principal of a key", () => {
    keys.create({ id: "ci-bot", roles: ["agent"], expiresAt: now + 1000 });
    expect(keys.identityOf("key:ci-bot")).toMatchObject({ id: "key:ci-bot", roles: ["agent"] });
    expect(keys.identityOf("key:unknown")).toBeUndefined();
    expect(keys.identityOf("token")).toBeUndefined();
    now += 1000;
    expect(keys.identityOf("key:ci-bot")).toMatchObject({ refused: "expired" });
    keys.revoke("ci-bot");
    expect(keys.identityOf("key:ci-bot")).toMatchObject({ refused: "revoked" });
  });
});

describe("the text of a key", () => {
  test("has an id of lowercase letters, digits and hyphens", () => {
    for (const id of ["a", "ci-bot", "7", "x".repeat(64)]) expect([id, isApiKeyId(id)]).toEqual([id, true]);
    for (const id of ["", "-a", "a-", "a_b", "A", "ä", "a b", "a\n", "x".repeat(65)]) {
      expect([id, isApiKeyId(id)]).toEqual([id, false]);
      expect(() => keys.create({ id, roles: [] })).toThrow("is not an id of a key");
    }
  });

  test("is recognised by its form alone, and hostile texts are not", () => {
    const hostile = fc.oneof(
      fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes)),
      fc.tuple(fc.string(), fc.string()).map(([id, secret]) => `a2e_${id}_${secret}`),
    );
    fc.assert(
      fc.property(hostile, (text) => {
        const isKey = /^a2e_[a-z0-9-]+_[0-9a-f]{64}$/.test(text) && !text.includes("\n");
        expect(idOfApiKey(text) === undefined || isKey).toBe(true);
        expect(["not recognised", { refused: "wrong" }]).toContainEqual(present(text));
      }),
    );
    expect(idOfApiKey(`${createApiKeyText("a")}\n`)).toBeUndefined();
  });
});
