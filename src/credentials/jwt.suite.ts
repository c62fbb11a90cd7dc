// An issuer of JWTs in memory: its documents are answered by a fake `fetch`.
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

export const issuer = "https://as.example";
export const audience = "https://host.example/mcp";

export interface SignOptions {
  readonly header?: Record<string, unknown>;
  readonly kid?: string;
  readonly key?: CryptoKey;
}

/** Answers a request; the default for all addresses is status 404. */
export type Answer = (signal: AbortSignal) => Response | Promise<Response>;

export async function createTestIssuer(now: () => number) {
  const pairs = new Map<string, { publicKey: CryptoKey; privateKey: CryptoKey }>();
  const requests: string[] = [];
  const answers = new Map<string, Answer>();
  const metadata = { issuer, jwks_uri: `${issuer}/jwks` };
  answers.set(`${issuer}/.well-known/openid-configuration`, () => Response.json(metadata));
  answers.set(`${issuer}/jwks`, async () => Response.json(await readKeys()));

  async function readKeys() {
    const keys = [...pairs].map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid, use: "sig" }));
    return { keys: await Promise.all(keys) };
  }

  async function addKey(kid: string, algorithm = "ES256") {
    const pair = await generateKeyPair(algorithm, { extractable: true });
    pairs.set(kid, pair);
    return pair;
  }

  await addKey("k1");
  return {
    requests,
    answers,
    addKey,
    removeKey: (kid: string) => void pairs.delete(kid),
    readKeys,
    fetch: (async (input: string, init: { signal: AbortSignal }) => {
      requests.push(input);
      return (await answers.get(input)?.(init.signal)) ?? new Response(null, { status: 404 });
    }) as unknown as typeof globalThis.fetch,
    /** Signs claims that are right, apart from those that are given. A claim that is undefined is left out. */
    sign(claims: Record<string, unknown> = {}, { header = {}, kid = "k1", key }: SignOptions = {}): Promise<string> {
      const seconds = Math.floor(now() / 1000);
      const payload = { iss: issuer, aud: audience, sub: "alice", exp: seconds + 300, ...claims };
      const privateKey = key ?? pairs.get(kid)?.privateKey;
      if (privateKey === undefined) throw new Error(`no key ${kid}`);
      return new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid, ...header })
        .sign(privateKey);
    },
  };
}
