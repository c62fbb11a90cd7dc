import { expect, test } from "vitest";
import { silentLogger } from "../../../plugin/logger.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { parseMcpOptions } from "../options.ts";
import { Faults } from "./faults.ts";

test.each([
  [new A2EError("timeout", "it was not ready within 30 s"), "timeout"],
  [new Error("Cannot find package abc-def-123"), "mcp_transport_error"],
])("a failure before the first connection is classified, so that the connection is retried: %s", (cause, code) => {
  const [config] = parseMcpOptions({ servers: { s: { cmd: ["serve"], env: { KEY: "abc-def-123" } } } }).servers;
  if (config === undefined) throw new Error("no config");

  const { error, isUnauthorized, reason } = new Faults(config, silentLogger).judge(cause);

  expect([error.code, isUnauthorized]).toEqual([code, false]);
  expect(reason).not.toContain("abc-def-123");
});
