import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { mintToken } from "../../tokens/mint-token.ts";
import { verifyToken } from "../../tokens/verify-token.ts";
import { runInProcess } from "../test-terminal.suite.ts";

const secret = new Uint8Array(32).fill(7);
const minted = mintToken({ id: "k1", secret }, { id: "tok-1", principal: "key:ci-bot", issued_at: 1_700_000_000 });
const env = { A2E_AUTH_TOKEN: minted };
const cwd = "/";

async function narrow(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(["token", "narrow", ...args], { cwd, env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.trim();
}

describe("a2e token narrow", () => {
  test("prints a token that the host verifies, with the caveats of the options", async () => {
    const options = ["--capability", "tools", "--tool", "read_*", "--tool", "list", "--namespace", "team-*"];
    const more = ["--environment", "cartpole", "--audience", "a", "--budget", "calls=3", "--budget", "cost_usd=0.5"];
    const token = await narrow(...options, ...more, "--depth", "0", "--expires", "2099-01-01");
    expect(verifyToken(token, () => secret)).toMatchObject({
      ok: true,
      token: {
        principalId: "key:ci-bot",
        caveats: [
          {
            capabilities: ["tools"],
            tools: ["read_*", "list"],
            namespaces: ["team-*"],
            environments: ["cartpole"],
            audience: ["a"],
            budget: { calls: 3, cost_usd: 0.5 },
            depth: 0,
            expires_at: Date.parse("2099-01-01") / 1000,
          },
        ],
      },
    });
  });

  test("gives two tokens with the same caveats different ids", async () => {
    const ids = [await narrow("--depth", "1"), await narrow("--depth", "1")].map((token) => {
      const verdict = verifyToken(token, () => secret);
      return verdict.ok ? verdict.token.chain.at(-1) : undefined;
    });
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("reads the token from stdin", async () => {
    const input = Readable.from([`${minted}\n`]);
    const { stdout } = await runInProcess(["token", "narrow", "--depth", "1", "-"], { cwd, input });
    expect(verifyToken(stdout.trim(), () => secret).ok).toBe(true);
  });

  test.each([
    [["narrow"], /name at least one caveat/],
    [["narrow", "--depth", "few"], /whole number/],
    [["narrow", "--expires", "yesterday"], /such as 90s/],
    [["narrow", "--budget", "calls"], /such as calls=100/],
    [["narrow", "--budget", "wishes=3"], /unknown caveat "wishes"/],
    [["narrow", "--depth", "1", "s3cret"], /malformed\nOnly tokens that begin with a2e1\./],
    [["show", "s3cret"], /begin with a2e1\./],
  ])("%j ends with 2 and a reason", async (args, message) => {
    const { code, stdout, stderr } = await runInProcess(["token", ...args], { cwd, env });
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("s3cret");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  test("without a token ends with 2 and says how to pass one", async () => {
    const { code, stderr } = await runInProcess(["token", "show"], { cwd });
    expect(stderr).toContain("Set A2E_AUTH_TOKEN, or use -");
    expect(code).toBe(2);
  });
});

describe("a2e token show", () => {
  test("prints principal and caveats, and nothing of the secret tail", async () => {
    const token = await narrow("--tool", "read_*", "--expires", "2099-01-01");
    const { stdout } = await runInProcess(["token", "show", token], { cwd });
    expect(stdout).toBe(
      [
        "principal  key:ci-bot",
        "token      tok-1, minted 2023-11-14T22:13:20.000Z with key k1",
        "caveat 1   tools: read_*; expires 2099-01-01T00:00:00.000Z",
        "",
      ].join("\n"),
    );
  });

  test("prints the same as JSON", async () => {
    const { stdout } = await runInProcess(["token", "show", "--json"], { cwd, env });
    expect(JSON.parse(stdout)).toEqual({
      key: "k1",
      id: "tok-1",
      principal: "key:ci-bot",
      issued_at: 1_700_000_000,
      caveats: [],
    });
  });
});
