// What lies below a base URL. Servers decode paths in ways of their own, so a path that any of them could read as a way
// up is refused, not only one that the URL standard resolves so.
import { A2EError } from "../../../../protocol/errors.ts";

/** Why a text is no base URL, for whoever wrote it. Repeats nothing of it: a password may stand there. */
export function refuseBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return "is no URL; give one such as https://api.example.com/v1";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "only http: and https: are allowed";
  if (url.username !== "" || url.password !== "")
    return "a user name or password does not belong there; use secret_headers or bearer_token";
  if (url.search !== "" || url.hash !== "") return "leave out what follows the path";
  return isPlainPath(url.pathname) ? undefined : "its path is ambiguous";
}

/** Of a text in which there is no problem. */
export function parseBaseUrl(text: string): URL {
  const url = new URL(text);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** The URL of a path below the base; throws `forbidden` for any other. */
export function resolveBelow(base: URL, path: string, query: Readonly<Record<string, string>>): URL {
  const relative = path.replace(/^\/+/, "");
  // What the parser would drop or turn into a slash must not be how two readers come to two paths.
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

/** No dot segment and no hidden slash, however often a server decodes it. */
function isPlainPath(pathname: string): boolean {
  // Bytes that are no UTF-8 are how some servers are told a dot that is none.
  if (!isDecodable(pathname)) return false;
  let text = pathname;
  for (let count = 0; count < maxDecodings; count++) {
    if (text.split("/").some((segment) => segment === ".." || segment === ".") || text.includes("\\")) return false;
    // Matrix parameters are cut off before dots are resolved by some: `..;/`.
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

/** What is no escape stays as it is: `100%` is a name like any other. */
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
