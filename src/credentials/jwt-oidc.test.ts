// JWTs of a real authorisation server, over HTTP.
import { decodeProtectedHeader } from "jose";
import { expect, test } from "vitest";
import { silentLogger } from "../plugin/logger.ts";
import { createJwts } from "./jwt.ts";
import { startOidcIssuer } from "./oidc-issuer.suite.ts";

const resource = "https://host.example/mcp";

test("tokens of oidc-provider are accepted by discovery, and so are those of a key that is rotated in", async () => {
  const authority = await startOidcIssuer(resource);
  try {
    let now = Date.now();
    const issuers = [{ issuer: authority.issuer, audience: [resource] }];
    const kind = createJwts({ issuers, log: silentLogger, clock: { now: () => now } });
    const present = (token: string) => kind.authenticate({ token, agentId: "" });

    const first = await authority.issueToken();
    expect(await present(first)).toMatchObject({ id: `${authority.issuer}|ci-bot`, roles: ["agent"] });

    await authority.rotate();
    const second = await authority.issueToken();
    expect(decodeProtectedHeader(second).kid).not.toBe(decodeProtectedHeader(first).kid);
    now += 31_000;
    expect(await present(second)).toMatchObject({ id: `${authority.issuer}|ci-bot` });
    expect(await present(first)).toMatchObject({ id: `${authority.issuer}|ci-bot` });

    const other = createJwts({
      issuers: [{ issuer: authority.issuer, audience: ["https://other.example"] }],
      log: silentLogger,
    });
    expect(await other.authenticate({ token: second, agentId: "" })).toMatchObject({ refused: "wrong" });
  } finally {
    await authority.close();
  }
});

test("an authorisation server that does not answer is not the fault of the token", async () => {
  const authority = await startOidcIssuer(resource);
  const issuers = [{ issuer: authority.issuer, audience: [resource] }];
  const token = await authority.issueToken();
  await authority.close();
  const kind = createJwts({ issuers, log: silentLogger });
  expect(await kind.authenticate({ token, agentId: "" })).toMatchObject({ refused: "server_error" });
});
