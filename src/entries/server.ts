// The public subpath `a2e/server`: doors that let agents reach a host from outside its process.
export { type ConfiguredServer, startConfiguredServer } from "../compose/configured-server.ts";
export { createMcpRoute } from "../compose/mcp-route.ts";
export type { ClientCertificate } from "../host/authentication.ts";
export type { FurtherRoute, RouteCaller } from "../server/further-route.ts";
export { type RunningServer, type ServerOptions, startServer } from "../server/http-server.ts";
export type { ProtectedResourceOptions } from "../server/protected-resource.ts";
export type { TlsOptions } from "../server/tls/secure-server.ts";
export { type StdioSession, serveStdio } from "../transports/stdio/stdio.ts";
