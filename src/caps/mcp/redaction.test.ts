import { expect, test } from "vitest";
import { parseMcpOptions } from "./options.ts";
import { createRedaction, redactValue } from "./redaction.ts";
import type { ServerSettings } from "./server-config.ts";

function redactionOf(settings: ServerSettings) {
  const [config] = parseMcpOptions({ servers: { s: settings } }).servers;
  if (config === undefined) throw new Error("no config");
  return createRedaction(config);
}

const password = "hunter-2-hunter-2";
const database = `postgres://ada:${encodeURIComponent(password)}@db/tea`;

test.each([
  [
    { url: "https://a.example", headers: { authorization: "Bearer abc.def.ghi", "x-on": "true" } },
    "sent Bearer abc.def.ghi, got 401 for abc.def.ghi: true",
    "sent ***, got 401 for ***: true",
  ],
  [{ url: "https://a.example/mcp?api_key=abc-def-123" }, "GET /mcp?api_key=abc-def-123", "GET /mcp?api_key=***"],
  [{ url: "https://a.example/mcp?key=abc%2Bdef/1" }, "abc+def/1: GET /mcp?key=abc%2Bdef/1", "***: GET /mcp?key=***"],
  [{ cmd: ["serve", "postgres://ada:abc%2Bdef@db"] }, "ada:abc%2Bdef or abc+def", "ada:*** or ***"],
  [{ cmd: ["remote", "https://a.example/mcp?key=abc-def-123"] }, "401 for abc-def-123", "401 for ***"],
  [{ cmd: ["docker", "run", "-e", "API_KEY=abc-def-123", "tea"] }, "abc-def-123 in docker", "*** in docker"],
  [{ cmd: ["remote", "--header", "Authorization: Bearer abc-def-123"] }, "401 for abc-def-123", "401 for ***"],
  [{ cmd: ["serve", "keynote", "/home/ada"] }, "keynote in /home/ada", "keynote in /home/ada"],
  [{ cmd: ["serve"], env: { API_KEY: "abc-def-123" } }, "no such key: abc-def-123", "no such key: ***"],
  [{ cmd: ["serve"], env: { DATABASE_URL: database } }, `wrong password: ${password}`, "wrong password: ***"],
  [{ cmd: ["serve", database] }, `wrong password: ${password}`, "wrong password: ***"],
  [{ cmd: ["serve", "--api-key", "abc-def-123", "notes"] }, "abc-def-123 in notes", "*** in notes"],
  [{ cmd: ["serve", "--token=abc-def-123", "--data", "/home/ada"] }, "abc-def-123 in /home/ada", "*** in /home/ada"],
  [
    { url: "https://a.example", oauth: { client_id: "a2e", client_secret: "abc-def-123" } },
    "a2e:abc-def-123",
    "a2e:***",
  ],
  [
    { url: "https://a.example", oauth: { client_id: "a2e", private_key: "-----BEGIN\nMIIBVgIBADAN\n-----END" } },
    "the key is MIIBVgIBADAN",
    "the key is ***",
  ],
] satisfies [ServerSettings, string, string][])(
  "no secret of %j is shown, whole or in part",
  (settings, text, shown) => {
    expect(redactionOf(settings)(text)).toBe(shown);
  },
);

test("secrets are removed from all texts of a value", () => {
  const redact = redactionOf({ cmd: ["serve"], env: { API_KEY: "abc-def-123" } });

  expect(redactValue({ "abc-def-123": [1, null, true, { tried: "abc-def-123!" }] }, redact)).toEqual({
    "***": [1, null, true, { tried: "***!" }],
  });
});

test("a value that is nested too deeply is cut", () => {
  const redact = redactionOf({ cmd: ["serve"], env: { API_KEY: "abc-def-123" } });
  const nested = JSON.parse(`${"[".repeat(100_000)}"abc-def-123"${"]".repeat(100_000)}`);

  expect(JSON.stringify(redactValue({ said: "abc-def-123", nested }, redact))).toMatch(
    /^{"said":"\*\*\*","nested":\[+"…"\]+}$/,
  );
});
