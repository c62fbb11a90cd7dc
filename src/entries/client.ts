// The public subpath `a2e/client`: the agent's side, for browsers and everywhere else.
export type { CapabilityApi } from "../client/api.ts";
export type { AskHandler } from "../client/ask-handlers.ts";
export { A2EClient, type AcceptedCap, type ClientOptions, type OnAsk } from "../client/client.ts";
export type { ClientCall, ClientCallFn, ClientInterceptor } from "../client/client-interceptors.ts";
export { A2EClientError, A2EConnectionError, type CallEvent } from "../client/errors.ts";
export type { PushHandler } from "../client/push-handlers.ts";
export type { RetryOptions } from "../client/retry.ts";
export type { RpcOptions } from "../client/rpc.ts";
export type { WithApis } from "../client/with-apis.ts";
export { type ConnectedClient, type ConnectOptions, connect } from "../compose/connect.ts";
export type { Message } from "../protocol/envelope.ts";
export type { Transport, TransportEvents } from "../protocol/transport.ts";
export type { ReconnectOptions } from "../transports/backoff.ts";
export { createHttpTransport, type HttpTransportOptions } from "../transports/http/http.ts";
export { createWebSocketTransport, type WebSocketTransportOptions } from "../transports/websocket/websocket.ts";
