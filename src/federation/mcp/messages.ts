// Parts of MCP messages that the SDK does not expose.
import {
  CLIENT_INFO_META_KEY,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../protocol/json.ts";

/** The request that a notification cancels. */
export function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!isJSONRPCNotification(message) || message.method !== "notifications/cancelled") return undefined;
  const requestId = message.params?.requestId;
  return typeof requestId === "string" || typeof requestId === "number" ? requestId : undefined;
}

/** A request that is answered only when the subscription ends. */
export type ListenRequest = JSONRPCRequest & { method: "subscriptions/listen" };

export function isListenRequest(message: JSONRPCMessage): message is ListenRequest {
  return isJSONRPCRequest(message) && message.method === "subscriptions/listen";
}

/** Whether the message declares revision 2026-07-28 or later. */
export function isStateless(message: unknown): boolean {
  return typeof envelopeOf(message)[PROTOCOL_VERSION_META_KEY] === "string";
}

/** The name of the client, which every request of that revision carries. */
export function clientNameOf(message: unknown): string {
  const client = envelopeOf(message)[CLIENT_INFO_META_KEY];
  return isJsonObject(client) && typeof client.name === "string" ? client.name : "";
}

function envelopeOf(message: unknown): JsonObject {
  const params = isJsonObject(message) ? message.params : undefined;
  const meta = isJsonObject(params) ? params._meta : undefined;
  return isJsonObject(meta) ? meta : {};
}
