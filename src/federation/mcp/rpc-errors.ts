// Converts failures to errors of MCP. Errors of the session are sent to the client; internal errors are only logged.
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { A2EClientError, A2EConnectionError } from "../../client/errors.ts";
import type { Logger } from "../../plugin/logger.ts";
import { A2EError } from "../../protocol/errors.ts";

/** Runs `work`, and rejects only with errors that the client may see. */
export async function explained<Value>(log: Logger, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw toProtocolError(log, error);
  }
}

function toProtocolError(log: Logger, error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof A2EClientError) {
    const { code, retryable, detail } = error;
    return new ProtocolError(toCode(error), error.message, { code, retryable, detail });
  }
  // The session cannot be opened, or has ended.
  if (error instanceof A2EError || error instanceof A2EConnectionError)
    return new ProtocolError(ProtocolErrorCode.InternalError, error.message, { code: error.code });
  log.error("an MCP request failed", { error });
  return new ProtocolError(ProtocolErrorCode.InternalError, "the host could not answer; its log says why");
}

/** Codes that the request did not cause, although retrying may not help. */
const faultsBehind: readonly string[] = ["cancelled", "internal_error", "mcp_protocol_error"];

function toCode({ code, retryable }: A2EClientError): number {
  return retryable || faultsBehind.includes(code) ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
}
