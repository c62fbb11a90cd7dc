// What went wrong with a server, told as an error of this protocol.

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
  /** `lost`: the connection is of no use any more. `forgotten`: the server does not know it, and would know a new one. */
  readonly connection: "kept" | "lost" | "forgotten";
  readonly isUnauthorized: boolean;
}

/** JSON-RPC codes that this file gives a meaning of its own. */
const methodNotFound = -32601;

export interface FaultySource {
  readonly sdk: Sdk;
  readonly serverId: string;
  /** False where the connection is the process itself: such a server cannot forget the one and live. */
  readonly isRemote: boolean;
  readonly redact: Redaction;
}

export function toServerFault(cause: unknown, { sdk, serverId, isRemote, redact }: FaultySource): ServerFault {
  const kept = (error: A2EError): ServerFault => ({ error, connection: "kept", isUnauthorized: false });
  if (cause instanceof A2EError) return kept(cause);
  const text = redact(cause instanceof Error ? describe(cause) : String(cause));
  if (sdk.UnauthorizedError.isInstance(cause) || statusOf(cause, sdk) === 401)
    return {
      error: serverUnavailable(serverId, "it wants an authorisation", { authorization: "required" }),
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

/** What came with the error, as the addresses to visit come with one that wants a visit. */
function dataOf(data: unknown, redact: Redaction): JsonObject {
  if (!isJsonObject(data) || isLargerThan(data, mcpLimits.maxTextLength)) return {};
  return { mcp_data: redactValue(data, redact) };
}

/** `fetch failed` says nothing; what is behind it does. */
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

/** JSON-RPC codes with which servers refuse a request before they look at it. */
const refusals = [-32600, -32000, -32001, -32002];

/**
 * The session is gone (404, as the specification says), or a server that began anew has not seen an `initialize`. Words
 * alone do not say so: tools have sessions of their own, and lose them.
 */
function isForgotten(cause: unknown, sdk: Sdk, isRemote: boolean): boolean {
  if (statusOf(cause, sdk) === 404) return true;
  const isRefusal = sdk.ProtocolError.isInstance(cause) && refusals.includes(cause.code);
  if (!isRefusal && statusOf(cause, sdk) !== 400) return false;
  const text = cause instanceof Error ? cause.message : "";
  if (/not (been )?initiali[sz]ed/i.test(text)) return true;
  return isRemote && /session (was )?not found|(no valid|unknown|invalid) session/i.test(text);
}
