import fc from "fast-check";
import { expect, test } from "vitest";
import { createPathWildcard, createWildcard } from "./wildcard.ts";

const names = { questionMark: true, sets: true };
const files = { ...names, braces: true, normalize: true };

test.each([
  ["read_*", "read_file", true],
  ["read_*", "xread_file", false],
  ["*", "", true],
  ["*", "a/b", true],
  ["http_?et", "http_get", true],
  ["[a-c]x", "bx", true],
  ["[!a-c]x", "bx", false],
  ["[!a-c]x", "dx", true],
  ["a\\*b", "a*b", true],
  ["a\\*b", "axb", false],
  ["a[b", "a[b", true],
  ["*a*b*", "xxaxxbxx", true],
  ["Read", "read", false],
  ["?", "😀", true],
])("the name pattern %j on %j is %s", (pattern, name, expected) => {
  expect(createWildcard(pattern, names)(name)).toBe(expected);
});

test.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "src/a.ts", false],
  ["**/*.ts", "a.ts", true],
  ["**/*.ts", "src/deep/a.ts", true],
  ["src/**", "src/a/b", true],
  ["src/**", "other/a", false],
  ["src/**/x/**/y", "src/x/y", true],
  ["src/**/x/**/y", "src/a/x/b/c/y", true],
  ["**/x/*", "x/x/y", true],
  ["{a,b}/{c,d}.md", "b/c.md", true],
  ["{a,b}/{c,d}.md", "b/e.md", false],
  ["a{,b{c,d}}", "abd", true],
  ["a{,b{c,d}}", "a", true],
  ["{single}", "{single}", true],
  ["./a", "a", true],
])("the path pattern %j on %j is %s", (pattern, path, expected) => {
  expect(createPathWildcard(pattern, files)(path)).toBe(expected);
});

test.each([
  ["a?c", "a?c", true],
  ["a?c", "abc", false],
  ["[a].*", "[a].x", true],
  ["a\\*", "a\\b", true],
  ["a*c", "a/b/c", true],
])("the pattern %j without options on %j is %s", (pattern, name, expected) => {
  expect(createWildcard(pattern)(name)).toBe(expected);
});

test.each([
  ["*.csv", "in/a.csv", false],
  ["**/*.csv", "in/deep/a.csv", true],
  ["in/?.csv", "in/a.csv", true],
  ["in/?.csv", "in/ab.csv", false],
  ["{a,b}/*", "a/x", false],
  ["in//*", "in/x", false],
  ["in/*/", "in/x", false],
])("the path pattern %j with question marks alone on %j is %s", (pattern, path, expected) => {
  expect(createPathWildcard(pattern, { questionMark: true })(path)).toBe(expected);
});

test("wildcards agree with regular expressions", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), maxLength: 12 });
  fc.assert(
    fc.property(text, text, (pattern, name) => {
      const expression = new RegExp(`^${pattern.replace(/[*?]/g, (sign) => (sign === "*" ? "[^]*" : "[^]"))}$`);
      return createWildcard(pattern, names)(name) === expression.test(name);
    }),
  );
});

test("a pattern that would explode as a regular expression is answered", () => {
  const name = "a".repeat(5000);
  expect(createWildcard(`${"*a".repeat(500)}*b`)(name)).toBe(false);
  expect(createPathWildcard(`${"**/a/".repeat(100)}b`)(Array(2000).fill("a").join("/"))).toBe(false);
});

test("too many alternatives are refused", () => {
  expect(() => createPathWildcard("{a,b}".repeat(20), files)).toThrow("alternatives");
});
