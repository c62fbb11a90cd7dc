// The package itself: the few names that most programs in Node need. The subpaths have the rest.
export { defineTool, toolOutput } from "../caps/tools/definition/define-tool.ts";
export { toolsPlugin } from "../caps/tools/plugin.ts";
export { A2EClient } from "../client/client.ts";
export { A2EClientError, A2EConnectionError } from "../client/errors.ts";
export type { ConnectedClient, ConnectOptions } from "../compose/connect.ts";
export { connect, connectEmbedded, type NodeConnectOptions } from "../compose/connect-node.ts";
export { keepSessions } from "../durability/keep-sessions.ts";
export { A2EHost } from "../host/host.ts";
export { plugin } from "../plugin/plugin.ts";
export { A2EError } from "../protocol/errors.ts";
export { call, capability, push } from "../protocol/table/capability.ts";
export { startServer } from "../server/http-server.ts";
export { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
export type { SubprocessOptions } from "../transports/stdio/subprocess.ts";
