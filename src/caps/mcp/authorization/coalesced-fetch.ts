// Two requests that find their token expired at the same moment would both spend the same refresh token, and servers that
// give a new one each time take that for theft. Equal refreshes are one, also for whoever read the token a moment before
// the new one was stored; and whoever was refused with the old access token a moment after that needs no newer one.

/** How long a refresh that worked is the answer to others; of a token that does not last, half its life. */
const rememberedMs = 10_000;

export function coalesceRefreshes(inner: typeof fetch): typeof fetch {
  const refreshes = new Map<string, Promise<Response>>();
  return async (input, init) => {
    const body = init?.body instanceof URLSearchParams ? init.body : undefined;
    if (body?.get("grant_type") !== "refresh_token") return inner(input, init);
    const address = String(input instanceof Request ? input.url : input);
    const key = keyOf(address, body);
    const forget = () => void refreshes.delete(key);
    const start = () =>
      inner(input, init).then(async (response) => {
        if (!response.ok) forget();
        else {
          const { refresh_token, lastsMs } = await readTokens(response.clone());
          const next = keyOf(address, body, refresh_token);
          refreshes.set(next, refresh);
          setTimeout(() => [key, next].forEach((one) => void refreshes.delete(one)), lastsMs).unref();
        }
        return response;
      });
    const refresh = refreshes.get(key) ?? start();
    refreshes.set(key, refresh);
    refresh.catch(forget);
    return (await refresh).clone();
  };
}

/** What a refresh is told from others by; of the one that would follow it, with the token that it gave. */
function keyOf(address: string, body: URLSearchParams, refreshToken = body.get("refresh_token") ?? ""): string {
  const fields = new URLSearchParams(body);
  fields.set("refresh_token", refreshToken);
  return `${address} ${fields}`;
}

/** What the answer says, as far as it can be read: whoever asked for it will complain of the rest. */
async function readTokens(response: Response): Promise<{ refresh_token: string | undefined; lastsMs: number }> {
  const { refresh_token, expires_in } = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  return {
    refresh_token: typeof refresh_token === "string" ? refresh_token : undefined,
    lastsMs: typeof expires_in === "number" ? Math.min(rememberedMs, expires_in * 500) : rememberedMs,
  };
}
