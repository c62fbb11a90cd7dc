import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createKey, createSecrets } from "./secrets.ts";

test("what is sealed comes back for its purpose and for no other", () => {
  const secrets = createSecrets(createKey());
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (secret, purpose, other) => {
      const sealed = secrets.seal(secret, purpose);
      expect(secrets.unseal(sealed, purpose)).toBe(secret);
      if (other !== purpose) expect(secrets.unseal(sealed, other)).toBeUndefined();
    }),
  );
});

test("a sealed text does not show its secret, and never looks the same twice", () => {
  const secrets = createSecrets(createKey());
  const sealed = secrets.seal("hunter2", "test");
  expect(Buffer.from(sealed.slice("sealed:1:".length), "base64").includes("hunter2")).toBe(false);
  expect(secrets.seal("hunter2", "test")).not.toBe(sealed);
});

test("what was changed, cut or sealed with another key is not read", () => {
  const secrets = createSecrets(createKey());
  const sealed = secrets.seal("hunter2", "test");
  const bytes = Buffer.from(sealed.slice("sealed:1:".length), "base64");
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ 1;
    expect(secrets.unseal(`sealed:1:${changed.toString("base64")}`, "test")).toBeUndefined();
    expect(secrets.unseal(`sealed:1:${bytes.subarray(0, at).toString("base64")}`, "test")).toBeUndefined();
  }
  expect(createSecrets(createKey()).unseal(sealed, "test")).toBeUndefined();
  expect(secrets.unseal("hunter2", "test")).toBeUndefined();
});

test("a handle is the same for the same secret, purpose and key, and contains no part of the secret", () => {
  const key = createKey();
  const secrets = createSecrets(key);
  const handle = secrets.handle("3f2c8a52-6a52", "session");
  expect(handle).toMatch(/^[0-9a-f]{16}$/);
  expect(createSecrets(key).handle("3f2c8a52-6a52", "session")).toBe(handle);
  expect(secrets.handle("3f2c8a52-6a52", "agent")).not.toBe(handle);
  expect(secrets.handle("3f2c8a52-6a53", "session")).not.toBe(handle);
  expect(createSecrets(createKey()).handle("3f2c8a52-6a52", "session")).not.toBe(handle);
});
