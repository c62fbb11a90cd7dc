import { describe, expect, test } from "vitest";
import { errorPayload } from "../protocol/core.ts";
import { A2EClientError, A2EConnectionError } from "./errors.ts";

function clientError(code: string, message = "") {
  return new A2EClientError(errorPayload.parse({ code, message }), "a");
}

describe("A2EClientError", () => {
  test.each([
    ["unknown_tool", "unknown_tool"],
    ["UNKNOWN_TOOL", "unknown_tool"],
    ["mcp_server_not_found", "server_not_found"],
    ["SERVER_NOT_FOUND", "mcp_server_not_found"],
    ["MCP_SERVER_NOT_FOUND", "Server_Not_Found"],
  ])("%s is %s, however the peer spells it", (code, asked) => {
    expect(clientError(code).is(asked)).toBe(true);
  });

  test.each([
    ["tool_error", "tool_denied"],
    ["unknown_tool", "unknown"],
    ["not_mcp_error", "not_error"],
    ["timeout", ""],
  ])("%s is not %s", (code, asked) => {
    expect(clientError(code).is(asked)).toBe(false);
  });

  test("is an Error whose message falls back to its code", () => {
    expect(clientError("timeout")).toBeInstanceOf(Error);
    expect(clientError("timeout").message).toBe("timeout");
    expect(clientError("timeout", "too slow").message).toBe("too slow");
    expect(clientError("timeout")).toMatchObject({
      name: "A2EClientError",
      req_id: "a",
      events: [],
      detail: {},
      retryable: false,
    });
  });
});

test("A2EConnectionError has a cause only if it was given one", () => {
  const cause = new Error("reset");
  expect(new A2EConnectionError("connection_lost", "gone", cause).cause).toBe(cause);
  expect("cause" in new A2EConnectionError("timeout", "late")).toBe(false);
});
