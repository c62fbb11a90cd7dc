import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { apiKeyPath } from "../../compose/api-key-file.ts";
import { toHostConfig } from "../../config/parsing.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { checkAuth } from "./auth-checks.ts";

const nextFolder = useTemporaryFolder();

test("a host without the section auth has nothing to check", async () => {
  expect(await checkAuth(toHostConfig({}, { env: {} }))).toEqual([]);
});

test("missing keys, keys that others can read, and an issuer that does not answer are warnings", async () => {
  const jwt = [{ issuer: "http://127.0.0.1:1", audience: ["lab"] }];
  const config = toHostConfig({ auth: { keys: true, jwt } }, { env: {}, baseDir: nextFolder() });
  expect(await checkAuth(config)).toMatchObject([
    { name: "keys", status: "warn", message: expect.stringContaining("no API key yet") },
    { name: "issuer", status: "warn", message: expect.stringContaining("http://127.0.0.1:1") },
  ]);
  mkdirSync(config.data_dir, { recursive: true });
  const path = apiKeyPath(config.data_dir);
  writeFileSync(path, "", { mode: 0o600 });
  expect((await checkAuth(config))[0]).toMatchObject({ status: "ok" });
  chmodSync(path, 0o644);
  expect((await checkAuth(config))[0]).toMatchObject({ status: "warn", advice: `chmod 600 ${path}` });
});
