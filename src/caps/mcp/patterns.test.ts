import { expect, test } from "vitest";
import { isUriOnList, matchesPattern } from "./patterns.ts";
import { toolNameOf } from "./tools/tool-names.ts";

test.each([
  ["echo", "echo", true],
  ["echo", "echoes", false],
  ["get_*", "get_", true],
  ["get_*", "forget_it", false],
  ["*", "", true],
  ["a*b*c", "a--b--c", true],
  ["a*b*c", "acb", false],
  ["a*a", "a", false],
  ["*ab*ab", "ab", false],
  ["[a].*", "[a].x", true],
])("%s matches %s: %s", (pattern, text, expected) => {
  expect(matchesPattern(pattern, text)).toBe(expected);
});

test("a pattern designed to be slow is matched quickly", () => {
  expect(matchesPattern("*a".repeat(1000), `${"a".repeat(100_000)}b`)).toBe(false);
});

const list = ["file:///data/*"];

test.each([
  ["file:///data/a.txt", true],
  ["file:///data/sub/a%20b.txt", true],
  ["file:///data/../etc/passwd", false],
  ["file:///data/%2e%2e/etc/passwd", false],
  ["file:///data/..%2fetc/passwd", false],
  ["file:///data/%252e%252e%252fetc/passwd", false],
  ["file:///data/..\\etc", false],
  ["file:///etc/passwd", false],
  ["file:///data/%", false],
  ["FILE:///data/a.txt", true],
])("%s is on the list of /data: %s", (uri, expected) => {
  expect(isUriOnList(list, uri)).toBe(expected);
});

test("an empty list allows everything, and a list with one address allows only that address", () => {
  expect(isUriOnList([], "any:thing")).toBe(true);
  expect([isUriOnList(["note:1"], "note:1"), isUriOnList(["note:1"], "note:2")]).toEqual([true, false]);
});

test.each([
  ["https://*.example.com/*", "https://api.example.com/mcp", true],
  ["https://*.example.com/*", "https://evil.test/x.example.com/mcp", false],
  ["https://*.example.com/*", "https://evil.test?.example.com/mcp", false],
  ["https://*.example.com/*", "https://evil.test#.example.com/mcp", false],
  ["https://*.example.com/*", "http://api.example.com/mcp", false],
  ["https://api.example.com/*", "https://api.example.com:8443/mcp", false],
  ["https://api.example.com/mcp", "https://api.example.com/mcp", true],
  ["https://*", "https://anywhere.test/mcp?x=1", true],
  ["*://api.example.com/*", "wss://api.example.com/mcp", true],
  ["https://api.example.com/*", "https://api.example.com@evil.test/mcp", false],
  ["*", "https://anywhere.test/", true],
  ["note:*", "note:1", true],
  ["notes://*/public/*", "notes://ada/private/public/1", false],
])("the list %s allows %s: %s", (pattern, uri, expected) => {
  expect(isUriOnList([pattern], uri)).toBe(expected);
});

test("a tool is called server__tool", () => {
  expect(toolNameOf("files", "read_file")).toBe("files__read_file");
});

test("a tool name that is too long or has other characters is always changed to the same unique name", () => {
  const long = "a".repeat(100);
  const names = [toolNameOf("s", long), toolNameOf("s", `${long}b`), toolNameOf("s", "a.b"), toolNameOf("s", "a b")];

  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(name).toMatch(/^s__[A-Za-z0-9_-]{1,61}$/);
  expect(toolNameOf("s", "a.b")).toBe(names[2]);
});
