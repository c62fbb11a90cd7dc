import { ProtocolError } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { A2EClientError, A2EConnectionError } from "../../client/errors.ts";
import { errorPayload } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import { explained } from "./rpc-errors.ts";

async function explain(error: unknown) {
  const logged: unknown[] = [];
  const log = { info() {}, warn() {}, error: (_text: string, fields: object = {}) => void logged.push(fields) };
  const shown: unknown = await explained(log, () => Promise.reject(error)).catch((reason) => reason);
  if (!(shown instanceof ProtocolError)) throw new Error("not to be shown");
  return { code: shown.code, message: shown.message, logged };
}

function clientError(code: string, retryable = false): A2EClientError {
  return new A2EClientError(errorPayload.parse({ code, message: "why", retryable }), "1");
}

test("an internal error is logged and not sent to the client", async () => {
  const error = new TypeError("/home/me/secret is not a function");
  const { code, message, logged } = await explain(error);

  expect(code).toBe(-32603);
  expect(message).not.toContain("secret");
  expect(logged).toEqual([{ error }]);
});

test("an invalid request and a failure of the host have different codes", async () => {
  const told = async (error: unknown) => {
    const { code, message, logged } = await explain(error);
    expect(logged).toEqual([]);
    return [code, message];
  };
  expect(await told(clientError("schema_violation"))).toEqual([-32602, "why"]);
  expect(await told(clientError("forbidden"))).toEqual([-32602, "why"]);
  expect(await told(clientError("rate_limited", true))).toEqual([-32603, "why"]);
  expect(await told(clientError("cancelled"))).toEqual([-32603, "why"]);
  expect(await told(new A2EError("rate_limited", "full"))).toEqual([-32603, "full"]);
  expect(await told(new A2EConnectionError("connection_lost", "gone"))).toEqual([-32603, "gone"]);
  expect(await told(new ProtocolError(-32002, "none"))).toEqual([-32002, "none"]);
});
