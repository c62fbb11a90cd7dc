// Two requests that find their token expired at the same moment would both spend the same refresh token, and servers that
// give a new one each time take that for theft. Equal refreshes are one, also for whoever read the token a moment before
// the new one was stored.

/** How long a refresh that worked is the answer to equal ones. */
const rememberedMs = 10_000;

export function coalesceRefreshes(inner: typeof fetch): typeof fetch {
  const refreshes = new Map<string, Promise<Response>>();
  return async (input, init) => {
    const body = init?.body instanceof URLSearchParams ? init.body : undefined;
    if (body?.get("grant_type") !== "refresh_token") return inner(input, init);
    const key = `${String(input instanceof Request ? input.url : input)} ${body}`;
    let refresh = refreshes.get(key);
    if (refresh === undefined) {
      refresh = inner(input, init);
      refreshes.set(key, refresh);
      const forget = () => refreshes.delete(key);
      refresh.then(({ ok }) => (ok ? setTimeout(forget, rememberedMs).unref() : forget()), forget);
    }
    return (await refresh).clone();
  };
}
