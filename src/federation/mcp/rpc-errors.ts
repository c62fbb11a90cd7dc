// Failures in the form in which MCP clients read them. What the session could not do is told to the client; what went
// wrong inside is told to the log.
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { A2EClientError, A2EConnectionError } from "../../client/errors.ts";
import type { Logger } from "../../host/logger.ts";
import { A2EError } from "../../protocol/errors.ts";

/** Resolves and rejects with `work`, but only with errors that may be shown. */
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

/** Codes that are no fault of the request, though trying again may not help either. */
const faultsBehind: readonly string[] = ["cancelled", "internal_error", "mcp_protocol_error"];

function toCode({ code, retryable }: A2EClientError): number {
  return retryable || faultsBehind.includes(code) ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
}
