// Patterns in which `*` stands for any characters, and what they are matched against.

/** Takes time in proportion to the text, whatever the pattern. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return text === pattern;
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from <= text.length - last.length;
}

/** An empty list allows everything. */
export function isOnList(list: readonly string[], text: string): boolean {
  return list.length === 0 || list.some((pattern) => matchesPattern(pattern, text));
}

/**
 * True where an address is on the list however often a server may decode it: `..` and its disguises must not lead out of
 * what is allowed.
 */
export function isUriOnList(list: readonly string[], uri: string): boolean {
  if (list.length === 0) return true;
  let read = uri;
  for (let round = 0; round < maxDecodings; round++) {
    if (!isOnList(list, normalUri(read)) || hasDotSegment(normalUri(read))) return false;
    const decoded = decode(read);
    if (decoded === undefined) return false;
    if (decoded === read) return true;
    read = decoded;
  }
  return false;
}

const maxDecodings = 4;

/** As the URL standard spells it, without `.` and `..`; as it is where it is no URL. */
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
