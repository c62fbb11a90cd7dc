import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tools } from "../../caps/tools/protocol.ts";
import { A2EClient } from "../../client/client.ts";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import { toHostConfig } from "../../config/parsing.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { runInProcess } from "../test-terminal.suite.ts";

const nextPath = useTemporaryFolder();

function newProject() {
  const folder = nextPath();
  mkdirSync(folder);
  return {
    folder,
    audit: (...args: string[]) => runInProcess(["audit", ...args], { cwd: folder }),
    /** Runs a host that is called this many times. */
    async work(calls: number) {
      const config = toHostConfig({ audit: { mode: "proven" }, host_id: "my host" }, { baseDir: folder, env: {} });
      const host = await startConfiguredHost(config);
      const client = await A2EClient.connect({ transport: createDirectTransport(() => host.sessions.create()) });
      for (let call = 0; call < calls; call++) await client.use(tools).list({});
      await client.disconnect();
      await host.close(0);
    },
  };
}

test("a log is verified, anchored, and found damaged", async () => {
  const { folder, audit, work } = newProject();
  await work(3);
  const anchor = await audit("anchor");
  writeFileSync(join(folder, "monday"), anchor.stdout);
  expect(await audit("verify")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/verified: \d+ entries.*\nnot anchored/),
  });
  await work(2);
  const verified = await audit("verify", "--from", "monday");
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining("anchored: it continues") });
  expect(verified.stderr).toContain("the log began");
  expect(JSON.parse((await audit("verify", "--json")).stdout)).toMatchObject({
    minimum: 0,
    remarks: [{ audit: "began" }],
  });

  rmSync(join(folder, ".a2e/audit/tile/entries"), { recursive: true });
  const damaged = await audit("verify");
  expect(damaged).toMatchObject({ code: 1, stdout: expect.stringContaining("damaged at entry 0") });
});

test("an entry is proven, and the proof is checked with the printed key alone", async () => {
  const { folder, audit, work } = newProject();
  await work(3);
  const lines = JSON.parse((await audit("tail", "-n", "3", "--json")).stdout) as { req_id: string; type: string }[];
  expect(lines).toHaveLength(3);
  const { req_id } = lines.find(({ type }) => type === "tool/list/req") as { req_id: string };
  expect(await audit("prove", req_id, "-o", "call.tlog-proof")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(req_id),
  });
  const key = (await audit("key")).stdout.trim();
  expect(key).toMatch(/^a2e\/my-host\+[0-9a-f]{8}\+/);

  const elsewhere = nextPath();
  mkdirSync(elsewhere);
  const proof = readFileSync(join(folder, "call.tlog-proof"), "utf8");
  writeFileSync(join(elsewhere, "proof"), proof);
  writeFileSync(join(elsewhere, "key"), `${key}\n`);
  const check = (...args: string[]) => runInProcess(["audit", "check", "proof", ...args], { cwd: elsewhere });
  for (const given of [key, "key"]) {
    const checked = await check("--key", given);
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining(req_id) });
    expect(checked.stderr).toContain("valid: entry");
  }
  expect(JSON.parse((await check("--key", key, "--json")).stdout)).toMatchObject({
    isValid: true,
    origin: "a2e/my-host",
  });
  writeFileSync(join(elsewhere, "proof"), proof.replace(/^index \d+/m, "index 0"));
  expect(await check("--key", key)).toMatchObject({ code: 1, stderr: expect.stringContaining("is not entry 0") });
});

test("mistakes are explained", async () => {
  const { folder, audit, work } = newProject();
  expect(await audit("key")).toMatchObject({ code: 1, stderr: expect.stringContaining("audit.mode: proven") });
  expect(await audit("verify")).toMatchObject({ code: 1, stderr: expect.stringContaining("no key of an audit log") });
  await work(1);
  expect(await audit("prove", "no such id")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("has no entry"),
  });
  expect(await audit("check", "proof")).toMatchObject({ code: 2, stderr: expect.stringContaining("needs the key") });
  expect(await audit("check", "proof", "--key", "x")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("name+hash+base64"),
  });
  expect(await audit("verify", "--from", "nothing")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("cannot read nothing"),
  });
  expect(await audit("tail", "-n", "0")).toMatchObject({ code: 2 });
  rmSync(join(folder, ".a2e/audit/checkpoint"));
  expect(await audit("anchor")).toMatchObject({ code: 1, stderr: expect.stringContaining("no checkpoint yet") });
});

test("a host that does not keep its sessions refuses to start with a proven audit log", async () => {
  const config = (persistence: object) =>
    toHostConfig({ audit: { mode: "proven" }, ...persistence }, { baseDir: nextPath(), env: {} });
  await expect(startConfiguredHost(config({}), { areSessionsKept: false })).rejects.toThrow("keeps its sessions");
  await expect(startConfiguredHost(config({ persistence: { enabled: false } }))).rejects.toThrow("persistence.enabled");
});
