// Two requests that find their token expired at the same moment would both send the same refresh token. A server that
// rotates refresh tokens treats the second use as theft. So equal refreshes share one request, and its response is
// remembered for a moment: for callers that read the old token just before the new one was stored, and for callers that
// were rejected with the old access token just after that.

/** How long a successful refresh is reused. For a short-lived token, half of its lifetime instead. */
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

/** Identifies a refresh. With `refreshToken`, identifies the refresh that would follow with that token. */
function keyOf(address: string, body: URLSearchParams, refreshToken = body.get("refresh_token") ?? ""): string {
  const fields = new URLSearchParams(body);
  fields.set("refresh_token", refreshToken);
  return `${address} ${fields}`;
}

/**
 * Reads the new refresh token and its lifetime. An unreadable response counts as empty; the SDK reports the problem.
 */
async function readTokens(response: Response): Promise<{ refresh_token: string | undefined; lastsMs: number }> {
  const { refresh_token, expires_in } = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  return {
    refresh_token: typeof refresh_token === "string" ? refresh_token : undefined,
    lastsMs: typeof expires_in === "number" ? Math.min(rememberedMs, expires_in * 500) : rememberedMs,
  };
}
