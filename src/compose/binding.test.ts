import { describe, expect, test } from "vitest";
import { toHostConfig } from "../config/parsing.ts";
import { ConfigError } from "../machinery/options/problem.ts";
import { checkBinding, isLoopback } from "./binding.ts";

describe("only this machine reaches", () => {
  test.each(["127.0.0.1", "127.8.9.10", "localhost", "LOCALHOST", "::1", "[::1]", "0:0:0:0:0:0:0:1"])(
    "%s",
    (address) => {
      expect(isLoopback(address)).toBe(true);
    },
  );
});

describe("other machines may reach", () => {
  test.each([
    "0.0.0.0",
    "::",
    "192.168.1.4",
    "example.org",
    "127.0.0.1.example.org",
    "localhost.example.org",
    "128.0.0.1",
    "",
    "127.1",
  ])("%s", (address) => {
    expect(isLoopback(address)).toBe(false);
  });
});

test("a host that other machines can reach is refused without a token, and the message names the setting", () => {
  const config = toHostConfig({ server: { host: "0.0.0.0" } }, { env: {} });
  expect(() => checkBinding(config)).toThrow(ConfigError);
  expect(() => checkBinding(config)).toThrow(/A2E_AUTH_TOKEN.*auth_token.*127\.0\.0\.1/s);
});

test("a token opens it to others", () => {
  checkBinding(toHostConfig({ server: { host: "0.0.0.0" }, auth_token: "secret" }, { env: {} }));
});
