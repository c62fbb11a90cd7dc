// Decides whether a URL is below a base URL. Servers decode paths in different ways, so a path is rejected if any of
// them could read it as a way up, and not only if the URL standard resolves it so.
import { A2EError } from "../../../../protocol/errors.ts";

/** Explains why a string is not a valid base URL. Repeats nothing of it, since it may contain a password. */
export function refuseBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return "is not a URL; use a URL such as https://api.example.com/v1";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "only http: and https: are allowed";
  if (url.username !== "" || url.password !== "")
    return "must not contain a user name or password; use secret_headers or bearer_token";
  if (url.search !== "" || url.hash !== "") return "must not contain a query or fragment";
  return isPlainPath(url.pathname) ? undefined : "its path is ambiguous";
}

/** The string must be valid, see `refuseBaseUrl`. */
export function parseBaseUrl(text: string): URL {
  const url = new URL(text);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** The URL of a path below the base; throws `forbidden` if the path leads out of it. */
export function resolveBelow(base: URL, path: string, query: Readonly<Record<string, string>>): URL {
  const relative = path.replace(/^\/+/, "");
  // Rejects characters that a URL parser drops or turns into a slash, so that two parsers cannot see different paths.
  const isAmbiguous = relative.includes("\\") || hasControl(path) || /^[a-z][a-z0-9+.-]*:/i.test(relative);
  const url = isAmbiguous ? undefined : new URL(base.pathname + relative, base);
  if (url === undefined || !isBelow(base, url))
    throw new A2EError("forbidden", `"${path.slice(0, 200)}" is not below the base URL; give a path relative to it`);
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value);
  url.hash = "";
  return url;
}

export function isBelow(base: URL, url: URL): boolean {
  const isSame = url.origin === base.origin && url.username === "" && url.password === "";
  const isInside = url.pathname.startsWith(base.pathname) || `${url.pathname}/` === base.pathname;
  return isSame && isInside && isPlainPath(url.pathname);
}

const maxDecodings = 5;

/** Whether the path has no dot segment and no hidden slash, however often a server decodes it. */
function isPlainPath(pathname: string): boolean {
  // Some servers decode invalid UTF-8 as a dot.
  if (!isDecodable(pathname)) return false;
  let text = pathname;
  for (let count = 0; count < maxDecodings; count++) {
    if (text.split("/").some((segment) => segment === ".." || segment === ".") || text.includes("\\")) return false;
    // Some servers cut off matrix parameters before they resolve dots: `..;/`.
    if (/\/\.{1,2};/.test(text)) return false;
    const decoded = decodeLeniently(text);
    if (decoded === text) return true;
    if (countOf(decoded, "/") !== countOf(text, "/") || hasControl(decoded)) return false;
    text = decoded;
  }
  return false;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Text that is not an escape stays as it is: `100%` is a valid name. */
function decodeLeniently(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

function countOf(text: string, part: string): number {
  return text.split(part).length;
}

function hasControl(text: string): boolean {
  return Array.from(text).some((character) => character < " " || character === "\u007f");
}
