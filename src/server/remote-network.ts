// The network address by which a host counts the sessions of a peer before it has shown a token.
import { isIPv6 } from "node:net";

/**
 * An IPv4 address as it is. Of an IPv6 address the first 64 bits, as in `2001:db8:0:1::/64`: one machine may use all
 * addresses of such a network. Undefined for peers without an address, as on a Unix socket.
 */
export function remoteNetwork(address: string | undefined): string | undefined {
  const [plain = ""] = (address ?? "").split("%", 1);
  if (plain === "") return undefined;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(plain)) return plain;
  // The URL parser writes an embedded IPv4 address in two groups of hexadecimal digits.
  const [head = "", tail = ""] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split("::", 2);
  const before = head.split(":").filter(Boolean);
  const after = tail.split(":").filter(Boolean);
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
