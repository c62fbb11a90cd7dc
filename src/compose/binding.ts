// Which addresses only this machine can reach: a host without a token listens on no other.
import { BlockList, isIP } from "node:net";
import { needsCredential } from "../config/auth.ts";
import type { A2EHostConfig } from "../config/schema.ts";
import { ConfigError } from "../machinery/options/problem.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Names other than localhost count as reachable: their address may change after the check. */
export function isLoopback(address: string): boolean {
  const name = address.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const family = isIP(name);
  return family === 0 ? name === "localhost" : loopback.check(name, family === 4 ? "ipv4" : "ipv6");
}

/** Throws if any machine that reaches the port could use the tools of this machine. */
export function checkBinding(config: Pick<A2EHostConfig, "server" | "auth" | "auth_token">): void {
  if (needsCredential(config)) return;
  const { server } = config;
  const advice = "set A2E_AUTH_TOKEN (or auth_token in the config, or --token)";
  if (!isLoopback(server.host)) {
    const found = `${JSON.stringify(server.host)} can be reached from other machines, and no token protects this host`;
    throw new ConfigError([{ path: "server.host", message: `${found}: ${advice}, or listen on 127.0.0.1` }]);
  }
  if (server.allowed_hosts.length > 0) {
    const found = "any client that reaches the proxy could use this host, and no token protects it";
    throw new ConfigError([{ path: "server.allowed_hosts", message: `${found}: ${advice}` }]);
  }
}
