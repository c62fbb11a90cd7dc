import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createCapturedLog } from "../../testing/captured-log.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { openKeyFile } from "./key-file.ts";

const newPath = useTemporaryFolder();

function newKeyPath(): string {
  return join(newPath(), "secret.key");
}

/** A key file that exists, and a secret that was sealed with it. */
function sealedWith(path: string, secret = "hunter2"): string {
  return openKeyFile({ path }).seal(secret, "test");
}

test("a sealed secret is unsealed after a restart, for its purpose only", () => {
  const path = newKeyPath();
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string(), fc.string(), (secret, purpose, other) => {
      const sealed = openKeyFile({ path }).seal(secret, purpose);
      const restarted = openKeyFile({ path });
      expect(restarted.unseal(sealed, purpose)).toBe(secret);
      if (other !== purpose) expect(restarted.unseal(sealed, other)).toBeUndefined();
    }),
    { numRuns: 50 },
  );
});

test("the key file is created complete, readable by its owner only, when the first secret is sealed", () => {
  const path = newKeyPath();
  const secrets = openKeyFile({ path });
  expect(secrets.unseal("sealed:1:AAAA", "test")).toBeUndefined();
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();

  const sealed = secrets.seal("hunter2", "test");

  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  expect(readdirSync(dirname(path))).toEqual(["secret.key"]);
  expect(secrets.unseal(sealed, "test")).toBe("hunter2");
});

test("a mode that leaves out the owner's own rights does not come from a strict umask", () => {
  const path = newKeyPath();
  const before = process.umask(0o777);
  try {
    mkdirSync(dirname(path), { recursive: true });
    chmodSync(dirname(path), 0o700);
    sealedWith(path);
  } finally {
    process.umask(before);
  }
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a secret cannot be unsealed with another key", () => {
  const path = newKeyPath();
  const sealed = sealedWith(path);
  writeFileSync(path, `${Buffer.alloc(32, 7).toString("base64")}\n`);
  expect(openKeyFile({ path }).unseal(sealed, "test")).toBeUndefined();
  expect(openKeyFile({ path: newKeyPath() }).unseal(sealed, "test")).toBeUndefined();
});

test("a sealed text with any bit changed, or cut anywhere, is not read", () => {
  const path = newKeyPath();
  const sealed = sealedWith(path);
  const secrets = openKeyFile({ path });
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
      const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
      const bytes = (text: string) => Buffer.from(text.split(":")[2] ?? "", "base64");
      const isSame = changed.startsWith("sealed:1:") && bytes(changed).equals(bytes(sealed));
      expect(secrets.unseal(changed, "test")).toBe(isSame ? "hunter2" : undefined);
      if (at < sealed.length - 3) expect(secrets.unseal(sealed.slice(0, at), "test")).toBeUndefined();
    }),
  );
});

test.each([0o644, 0o640, 0o604, 0o666, 0o660])(
  "a key file of mode %o is closed to other users, and a warning is logged",
  (mode) => {
    const path = newKeyPath();
    const sealed = sealedWith(path);
    chmodSync(path, mode);
    const log = createCapturedLog();

    expect(openKeyFile({ path, log }).unseal(sealed, "test")).toBe("hunter2");

    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(log.entries).toMatchObject([{ level: "warn", fields: { path } }]);
    expect(JSON.stringify(log.entries)).not.toContain(readFileSync(path, "utf8").trim());
  },
);

test.each(["", "\n", "no key", "AAAA", `${Buffer.alloc(31).toString("base64")}\n`, `${"A".repeat(43)}*`])(
  "a key file that contains %j stops the start with an error that names the file",
  (content) => {
    const path = newKeyPath();
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode: 0o600 });
    expect(() => openKeyFile({ path })).toThrow(`${path} is damaged`);
    expect(readFileSync(path, "utf8")).toBe(content);
  },
);

test("a link, a folder and a place that cannot be written to are refused by name", () => {
  const target = newKeyPath();
  sealedWith(target);
  const link = newKeyPath();
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(target, link);
  expect(() => openKeyFile({ path: link })).toThrow("symbolic link");
  expect(() => openKeyFile({ path: dirname(target) })).toThrow("not a regular file");
  const blocked = join(target, "inside-a-file", "secret.key");
  expect(() => openKeyFile({ path: blocked })).toThrow(blocked);
});

test("processes that start at the same time end up with the same key", async () => {
  const path = newKeyPath();
  const code = `
    const { openKeyFile } = await import(${JSON.stringify(new URL("./key-file.ts", import.meta.url).href)});
    process.stdout.write(openKeyFile({ path: ${JSON.stringify(path)} }).seal("hunter2", "test"));`;
  const seal = async () => {
    const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "--eval", code];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };

  const sealed = await Promise.all([seal(), seal(), seal(), seal()]);

  expect(readdirSync(dirname(path))).toEqual(["secret.key"]);
  const secrets = openKeyFile({ path });
  for (const text of sealed) expect(secrets.unseal(text, "test")).toBe("hunter2");
});
