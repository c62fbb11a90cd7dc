// A real authorisation server (oidc-provider) that issues access tokens as JWTs, with keys that can be rotated.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
type CreateProvider = new (issuer: string, options: unknown) => { callback(): Handle };

export async function startOidcIssuer(resource: string) {
  // By a variable: the package has no types.
  const packageName = "oidc-provider";
  const { default: Provider } = await withoutNotices(() => import(packageName) as Promise<{ default: CreateProvider }>);
  const keys: { kid: string }[] = [];
  let handle: Handle = () => {};
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** Signs with a new key from now on, and publishes the keys before it too. */
  async function rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    keys.unshift({ ...(await exportJWK(privateKey)), kid: `k${keys.length + 1}`, alg: "RS256", use: "sig" } as never);
    handle = await withoutNotices(async () => createProvider().callback());
  }

  function createProvider() {
    return new Provider(issuer, {
      jwks: { keys },
      clients: [
        {
          client_id: "ci-bot",
          client_secret: "client secret",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
        },
      ],
      cookies: { keys: ["a key for tests"] },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({ scope: "agent", audience: resource, accessTokenFormat: "jwt" }),
        },
      },
      scopes: ["agent"],
      ttl: { ClientCredentials: 300 },
      extraTokenClaims: () => ({ roles: ["agent"] }),
    });
  }

  await rotate();
  return {
    issuer,
    rotate,
    async issueToken(): Promise<string> {
      const body = new URLSearchParams({ grant_type: "client_credentials", scope: "agent", resource });
      const authorization = `Basic ${btoa("ci-bot:client%20secret")}`;
      const response = await fetch(`${issuer}/token`, { method: "POST", body, headers: { authorization } });
      const { access_token: token, ...rest } = (await response.json()) as { access_token?: string };
      if (token === undefined) throw new Error(JSON.stringify(rest));
      return token;
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** It writes to the console about the version of Node, and about the settings of this test. */
async function withoutNotices<Result>(work: () => Promise<Result>): Promise<Result> {
  const { warn, info } = console;
  Object.assign(console, { warn() {}, info() {} });
  try {
    return await work();
  } finally {
    Object.assign(console, { warn, info });
  }
}
