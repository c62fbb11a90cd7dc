// Calls a tool without the SDK; DirectRequests explains why.
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Sdk } from "../sdk/sdk.ts";
import type { DirectFailure, DirectOptions, DirectRequests } from "../transports/direct-requests.ts";
import { toCallResult } from "./tool-result.ts";

/** Behaves like the SDK's `callTool`, with the same errors. */
export function callDirectly(
  direct: DirectRequests,
  sdk: Sdk,
  name: string,
  args: JsonObject,
  options: DirectOptions,
): Promise<CallToolResult> {
  const { ProtocolError, SdkError, SdkErrorCode } = sdk;
  return direct.request("tools/call", { name, arguments: args }, options).then(
    (result) => toCallResult(result, sdk),
    (failure: DirectFailure) => {
      switch (failure.kind) {
        case "answered":
          throw ProtocolError.fromError(failure.code, failure.message, failure.data);
        case "timeout":
          throw new SdkError(SdkErrorCode.RequestTimeout, "Request timed out");
        case "aborted":
          throw options.signal.reason;
        case "closed":
          throw new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed");
        case "unsent":
          throw failure.cause;
      }
    },
  );
}
