// Two requests that find their token expired at the same moment would both spend the same refresh token, and servers that
// give a new one each time take that for theft. Equal refreshes under way are one.

export function coalesceRefreshes(inner: typeof fetch): typeof fetch {
  const underWay = new Map<string, Promise<Response>>();
  return async (input, init) => {
    const body = init?.body instanceof URLSearchParams ? init.body : undefined;
    if (body?.get("grant_type") !== "refresh_token") return inner(input, init);
    const key = `${String(input instanceof Request ? input.url : input)} ${body}`;
    let response = underWay.get(key);
    if (response === undefined) {
      response = inner(input, init).finally(() => underWay.delete(key));
      underWay.set(key, response);
    }
    return (await response).clone();
  };
}
