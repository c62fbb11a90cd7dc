import fc from "fast-check";
import { expect, test } from "vitest";
import { remoteNetwork } from "./remote-network.ts";

test.each([
  [undefined, undefined],
  ["", undefined],
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::1", "0:0:0:0::/64"],
  ["2001:db8:0:1:aaaa:bbbb:cccc:dddd", "2001:db8:0:1::/64"],
  ["2001:db8::5", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"],
])("the peer %s is counted as %s", (address, network) => {
  expect(remoteNetwork(address)).toBe(network);
});

test("two IPv6 addresses are counted together exactly if their first 64 bits are equal", () => {
  const half = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 4, maxLength: 4 });
  const network = fc
    .tuple(fc.integer({ min: 0x2000, max: 0x3fff }), half)
    .map(([first, rest]) => [first, ...rest.slice(1)]);
  const text = (groups: number[]) => groups.map((group) => group.toString(16)).join(":");
  fc.assert(
    fc.property(network, network, half, half, (one, other, a, b) => {
      const isSame = text(one) === text(other);
      expect(remoteNetwork(text([...one, ...a])) === remoteNetwork(text([...one, ...b]))).toBe(true);
      expect(remoteNetwork(text([...one, ...a])) === remoteNetwork(text([...other, ...b]))).toBe(isSame);
    }),
  );
});
