import { expect, test } from "vitest";
import { parseBaseUrl, resolveBelow } from "./http-reach.ts";

test.each([
  "../admin",
  "..",
  "a/../../admin",
  "%2e%2e/admin",
  "a/%2E%2e/%2e./admin",
  "..%2fadmin",
  "%2e%2e%2fadmin",
  "..%5cadmin",
  "..\\admin",
  "%252e%252e/admin",
  "%252e%252e%252fadmin",
  "..;/admin",
  "a%2fb",
  "a\nb",
  "%00",
  "%ff",
  "%c0%ae%c0%ae/admin",
  "100%25/%252e%252e/admin",
  "http://example.com/",
  "http:/admin",
  "javascript:1",
  "file:///etc/passwd",
])("%j is not below the base URL", async (path) => {
  expect(() => resolveBelow(parseBaseUrl("http://api.test/v1/users"), path, {})).toThrow(
    expect.objectContaining({ code: "forbidden" }),
  );
});

test.each([
  ["", "/v1/"],
  ["/", "/v1/"],
  ["//evil.test/x", "/v1/evil.test/x"],
  ["a/./b/../c", "/v1/a/c"],
  ["a b/ü?x=1", "/v1/a%20b/%C3%BC?x=1"],
  ["100%25", "/v1/100%25"],
  ["@evil.test", "/v1/@evil.test"],
  ["a#fragment", "/v1/a"],
])("the path %j resolves to %s", (path, expected) => {
  expect(resolveBelow(parseBaseUrl("http://api.test/v1"), path, {}).href).toBe(`http://api.test${expected}`);
});
