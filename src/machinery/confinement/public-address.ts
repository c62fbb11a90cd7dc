// Which addresses belong to the public internet. Everything that IANA set aside is not: loopback, private, link-local
// (cloud metadata among them), shared, multicast, documentation, and the ways to write an IPv4 address as an IPv6 one.
import { isIPv4, isIPv6 } from "node:net";

// Source: IANA IPv4 Special-Purpose Address Registry, and 224.0.0.0/4 and up.
const reservedIPv4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

/** False also for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublicIPv4(toNumber(address));
  if (!isIPv6(address)) return false;
  const groups = toGroups(address);
  const [first = 0, second = 0] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return isPublicIPv4((groups[6] ?? 0) * 0x10000 + (groups[7] ?? 0));
  // Only 2000::/3 is global unicast; of it 2001::/23 (Teredo and others), 2001:db8::/32, 2002::/16 (6to4) and 3fff::/20 are not.
  if (first >> 13 !== 1) return false;
  if (first === 0x2001 && (second < 0x0200 || second === 0x0db8)) return false;
  return first !== 0x2002 && !(first === 0x3fff && second < 0x1000);
}

function isPublicIPv4(address: number): boolean {
  return !reservedIPv4.some(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor(toNumber(network) / size);
  });
}

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** The eight groups of an IPv6 address, however it is abbreviated. */
function toGroups(address: string): number[] {
  const plain = address.replace(/%.*$/, "");
  const lastColon = plain.lastIndexOf(":");
  const tail = plain.slice(lastColon + 1);
  const text = isIPv4(tail) ? plain.slice(0, lastColon + 1) + dottedToGroups(tail) : plain;
  const [head = "", rest] = text.split("::");
  const left = parseGroups(head);
  if (rest === undefined) return left;
  const right = parseGroups(rest);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function dottedToGroups(address: string): string {
  const value = toNumber(address);
  return `${Math.floor(value / 0x10000).toString(16)}:${(value % 0x10000).toString(16)}`;
}

function parseGroups(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}
