// HTTP requests that reach only allowed addresses, for any DNS answer and any redirect.
import { isIP, type LookupFunction } from "node:net";
import { Agent, type Dispatcher, request } from "undici";
import { A2EError } from "../../protocol/errors.ts";

interface ResolvedAddress {
  address: string;
  family: number;
}

/** Which addresses may be reached, and how much of an answer is read. */
export interface GuardedNetwork {
  maxBytes: number;
  maxRedirects: number;
  /** Names to addresses; the system's resolver unless a test has another. */
  resolve(hostname: string): Promise<ResolvedAddress[]>;
  isAllowed(address: string): boolean;
  /** Which URLs may be requested, at first or after a redirect; all if this is left out. */
  isInReach?(url: URL): boolean;
}

export interface GuardedRequest {
  url: string;
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  headers: Record<string, string>;
  body?: string;
}

export interface GuardedResponse {
  readonly url: string;
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly bytes: Buffer;
  /** There was more than `maxBytes`. */
  readonly isCut: boolean;
}

export async function requestGuarded(
  asked: GuardedRequest,
  network: GuardedNetwork,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  // A new agent per call: a connection that is reused later would not have its address checked again.
  const agent = createGuardedAgent(network);
  try {
    const { response, target } = await follow(asked, network, agent, signal);
    const { bytes, isCut } = await readBody(response, network.maxBytes);
    return { url: target.href, status: response.statusCode, headers: response.headers, bytes, isCut };
  } finally {
    await agent.destroy();
  }
}

async function follow(
  { url, method = "GET", headers, body }: GuardedRequest,
  network: GuardedNetwork,
  dispatcher: Agent,
  signal: AbortSignal,
) {
  let target = checkUrl(url, undefined, network);
  let isSent = method !== "GET" && method !== "HEAD";
  const { origin } = target;
  for (let hops = 0; ; hops++) {
    // Headers meant for one server are not sent to another.
    const own = target.origin === origin ? headers : {};
    const response = await request(target, {
      dispatcher,
      signal,
      method: isSent || method === "HEAD" ? method : "GET",
      headers: { ...own, "accept-encoding": "identity" },
      ...(isSent && body !== undefined ? { body } : {}),
    });
    // Destroying a body makes it emit an error, which has no other listener.
    response.body.on("error", () => {});
    const { location } = response.headers;
    const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode) && typeof location === "string";
    // A request with a body is not repeated elsewhere: only 303, which asks for a GET, is followed.
    if (!isRedirect || (isSent && response.statusCode !== 303)) return { response, target };
    isSent = false;
    response.body.destroy();
    if (hops >= network.maxRedirects) throw new Error(`more than ${network.maxRedirects} redirects`);
    target = checkUrl(location, target, network);
  }
}

/** Checks that need no DNS lookup. URL itself turns `0x7f.1`, `017700000001` and `2130706433` into 127.0.0.1. */
function checkUrl(text: string, base: URL | undefined, network: GuardedNetwork): URL {
  if (!URL.canParse(text, base?.href))
    throw new Error(`"${text}" is not a URL; use one such as https://example.com/page`);
  const url = new URL(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new A2EError("forbidden", `"${url.protocol}" is not allowed; only http: and https: are`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new A2EError("forbidden", "a URL with a user name or password is not allowed");
  }
  const literal = url.hostname.replace(/^\[|\]$/g, "");
  // An address in a URL is connected to without asking the resolver below.
  if (isIP(literal) !== 0 && !network.isAllowed(literal)) throw privateAddress(url.hostname, literal);
  if (network.isInReach?.(url) === false)
    throw new A2EError("forbidden", `${url.origin}${url.pathname} is out of reach`);
  return url;
}

/**
 * Checks the addresses of a name at the moment of connecting, and connects to exactly those addresses: a second DNS
 * answer cannot differ.
 */
function createGuardedAgent({ resolve, isAllowed }: GuardedNetwork): Agent {
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const refused = addresses.find(({ address }) => !isAllowed(address));
        const [first] = addresses;
        if (refused !== undefined) callback(privateAddress(hostname, refused.address), "", 0);
        else if (first === undefined) callback(new Error(`"${hostname}" has no address`), "", 0);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
  // The caller's signal is the only clock; undici's own would cut a slow answer short under another name.
  return new Agent({ connect: { lookup }, maxHeaderSize: 32 * 1024, pipelining: 0, bodyTimeout: 0, headersTimeout: 0 });
}

function privateAddress(hostname: string, address: string): A2EError {
  const name = hostname === address || hostname === `[${address}]` ? address : `${hostname} (${address})`;
  return new A2EError("forbidden", `${name} is not a public address; only the public internet can be reached`);
}

async function readBody(
  response: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break;
  }
  response.body.destroy();
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: size > maxBytes };
}
