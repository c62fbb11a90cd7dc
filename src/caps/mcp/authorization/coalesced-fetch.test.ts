import { expect, test } from "vitest";
import { coalesceRefreshes } from "./coalesced-fetch.ts";

function startCounting(status = 200, more = {}) {
  const bodies: string[] = [];
  const send = coalesceRefreshes(async (_input, init) => {
    bodies.push(String(init?.body));
    return new Response(JSON.stringify({ access_token: `token ${bodies.length}`, ...more }), { status });
  });
  const post = async (fields: Record<string, string>) =>
    (await send("https://issuer.test/token", { method: "POST", body: new URLSearchParams(fields) })).json();
  return { bodies, post };
}

const refresh = { grant_type: "refresh_token", refresh_token: "r1" };

test("concurrent refreshes with one refresh token send one request, and all callers get the new token", async () => {
  const { bodies, post } = startCounting();

  const atOnce = await Promise.all([post(refresh), post(refresh)]);
  const late = await post(refresh);

  expect(bodies).toHaveLength(1);
  expect([...atOnce, late]).toEqual(Array(3).fill({ access_token: "token 1" }));
});

test("a caller that was rejected with the old token and finds the new refresh token gets the new access token", async () => {
  const { bodies, post } = startCounting(200, { refresh_token: "r2" });

  const first = await post(refresh);
  const second = await post({ ...refresh, refresh_token: "r2" });

  expect(bodies).toHaveLength(1);
  expect(second).toEqual(first);
});

test("a token that expires at once is refreshed again", async () => {
  const { bodies, post } = startCounting(200, { refresh_token: "r2", expires_in: 0 });

  await post(refresh);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await post({ ...refresh, refresh_token: "r2" });

  expect(bodies).toHaveLength(2);
});

test("another refresh token, and a request that is not a refresh, are sent separately", async () => {
  const { bodies, post } = startCounting();

  await post(refresh);
  await post({ ...refresh, refresh_token: "r2" });
  await post({ grant_type: "client_credentials" });
  await post({ grant_type: "client_credentials" });

  expect(bodies).toHaveLength(4);
});

test("a refresh that failed is retried", async () => {
  const { bodies, post } = startCounting(500);

  await post(refresh);
  await post(refresh);

  expect(bodies).toHaveLength(2);
});
