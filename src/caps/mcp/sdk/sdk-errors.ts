// Converts errors of a server and of the SDK to errors of this protocol.

import { isLargerThan } from "../../../machinery/validation/json-size.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { isJsonObject, type JsonObject } from "../../../protocol/json.ts";
import { mcpLimits } from "../limits.ts";
import { capabilityMissing, protocolError, samplingRefused, serverUnavailable, transportError } from "../problems.ts";
import { type Redaction, redactValue } from "../redaction.ts";
import { rejected } from "../server/asks.ts";
import type { Sdk } from "./sdk.ts";

export interface ServerFault {
  readonly error: A2EError;
  /**
   * `lost`: the connection can no longer be used. `forgotten`: the server rejects this connection but would accept a
   * new one.
   */
  readonly connection: "kept" | "lost" | "forgotten";
  readonly isUnauthorized: boolean;
}

/** JSON-RPC codes that this file treats specially. */
const methodNotFound = -32601;

export interface FaultySource {
  readonly sdk: Sdk;
  readonly serverId: string;
  /** False if the connection is a child process: such a server cannot lose the connection and keep running. */
  readonly isRemote: boolean;
  readonly redact: Redaction;
}

export function toServerFault(cause: unknown, { sdk, serverId, isRemote, redact }: FaultySource): ServerFault {
  const kept = (error: A2EError): ServerFault => ({ error, connection: "kept", isUnauthorized: false });
  if (cause instanceof A2EError) return kept(cause);
  const text = redact(cause instanceof Error ? describe(cause) : String(cause));
  if (sdk.UnauthorizedError.isInstance(cause) || statusOf(cause, sdk) === 401)
    return {
      error: serverUnavailable(serverId, "it requires authorisation", { authorization: "required" }),
      connection: "kept",
      isUnauthorized: true,
    };
  if (isForgotten(cause, sdk, isRemote))
    return { error: transportError(serverId, text), connection: "forgotten", isUnauthorized: false };
  if (sdk.ProtocolError.isInstance(cause) && cause.code === rejected) return kept(samplingRefused(serverId, text));
  if (sdk.ProtocolError.isInstance(cause))
    return kept(
      cause.code === methodNotFound
        ? capabilityMissing(serverId, `such method: ${text}`)
        : protocolError(serverId, text, { mcp_code: cause.code, ...dataOf(cause.data, redact) }),
    );
  if (sdk.SdkError.isInstance(cause)) {
    const { SdkErrorCode } = sdk;
    switch (cause.code) {
      case SdkErrorCode.RequestTimeout:
        return kept(new A2EError("timeout", `MCP server "${serverId}" did not answer in time`));
      case SdkErrorCode.CapabilityNotSupported:
      case SdkErrorCode.MethodNotSupportedByProtocolVersion:
        return kept(capabilityMissing(serverId, `such capability: ${text}`));
      case SdkErrorCode.InvalidResult:
      case SdkErrorCode.UnsupportedResultType:
      case SdkErrorCode.InputRequiredRoundsExceeded:
        return kept(protocolError(serverId, text));
    }
    const status = statusOf(cause, sdk);
    if (status !== undefined) return kept(transportError(serverId, text, { http_status: status }));
  }
  return { error: transportError(serverId, text), connection: "lost", isUnauthorized: false };
}

/** The data of the error, for example the addresses to visit of an error that requires a visit. */
function dataOf(data: unknown, redact: Redaction): JsonObject {
  if (!isJsonObject(data) || isLargerThan(data, mcpLimits.maxTextLength)) return {};
  return { mcp_data: redactValue(data, redact) };
}

/** Appends the causes, since `fetch failed` alone explains nothing. */
function describe(error: Error): string {
  const causes = [error.message];
  for (let at = error.cause; at instanceof Error && causes.length < maxCauses; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    causes.push(at.message === "" ? String(code ?? at.name) : at.message);
  }
  return causes.join(": ");
}

const maxCauses = 4;

function statusOf(cause: unknown, { SdkHttpError, SseError }: Sdk): number | undefined {
  return SdkHttpError.isInstance(cause) ? cause.status : SseError.isInstance(cause) ? cause.code : undefined;
}

/** JSON-RPC codes with which servers reject a request before they handle it. */
const refusals = [-32600, -32000, -32001, -32002];

/**
 * The session expired (404 by the specification), or the server restarted and has not seen an `initialize`. The text
 * alone is not enough: tools have sessions of their own and may lose them.
 */
function isForgotten(cause: unknown, sdk: Sdk, isRemote: boolean): boolean {
  if (statusOf(cause, sdk) === 404) return true;
  const isRefusal = sdk.ProtocolError.isInstance(cause) && refusals.includes(cause.code);
  if (!isRefusal && statusOf(cause, sdk) !== 400) return false;
  const text = cause instanceof Error ? cause.message : "";
  if (/not (been )?initiali[sz]ed/i.test(text)) return true;
  return isRemote && /session (was )?not found|(no valid|unknown|invalid) session/i.test(text);
}
