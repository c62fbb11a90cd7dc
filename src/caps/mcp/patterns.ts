// The lists of names and addresses of a server's config. In them, `*` stands for any characters.
import { createWildcard } from "../../protocol/wildcards/wildcard.ts";

/** Every character but `*` stands for itself, since `?` is common in addresses. */
export function matchesPattern(pattern: string, text: string): boolean {
  return createWildcard(pattern)(text);
}

/** An empty list allows everything. */
export function isOnList(list: readonly string[], text: string): boolean {
  return list.length === 0 || list.some((pattern) => matchesPattern(pattern, text));
}

/**
 * True if an address is on the list, however often a server may decode it: `..`, also percent-encoded, must not lead
 * out of the allowed addresses.
 */
export function isUriOnList(list: readonly string[], uri: string): boolean {
  if (list.length === 0) return true;
  let read = uri;
  for (let round = 0; round < maxDecodings; round++) {
    const normal = normalUri(read);
    if (hasDotSegment(normal) || !list.some((pattern) => matchesUri(pattern, normal))) return false;
    const decoded = decode(read);
    if (decoded === undefined) return false;
    if (decoded === read) return true;
    read = decoded;
  }
  return false;
}

const maxDecodings = 4;

/**
 * Part by part: a `*` in the host must not reach into the path, or `https://*.example.com/*` would be
 * `https://anywhere.else/x.example.com/` too.
 */
function matchesUri(pattern: string, uri: string): boolean {
  const wanted = splitUri(pattern);
  if (wanted === undefined) return matchesPattern(pattern, uri);
  const given = splitUri(uri);
  if (given === undefined) return false;
  // `https://*` without a path allows every path.
  const path = wanted.path === "" && wanted.host.endsWith("*") ? "*" : wanted.path;
  return (
    matchesPattern(wanted.scheme, given.scheme) &&
    matchesPattern(wanted.host, given.host) &&
    matchesPattern(path, given.path)
  );
}

function splitUri(uri: string): { scheme: string; host: string; path: string } | undefined {
  const [, scheme, host, path] = /^([^:/?#]*):\/\/([^/?#\\]*)(.*)$/s.exec(uri) ?? [];
  return scheme === undefined || host === undefined || path === undefined ? undefined : { scheme, host, path };
}

/** The URL as the URL standard normalises it, without `.` and `..`; unchanged if it is not a URL. */
function normalUri(uri: string): string {
  return URL.canParse(uri) ? new URL(uri).href : uri;
}

function hasDotSegment(uri: string): boolean {
  return /(^|[/\\])\.\.?([/\\]|$)/.test(uri.replace(/[?#].*$/, ""));
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
