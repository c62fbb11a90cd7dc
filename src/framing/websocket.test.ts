import fc from "fast-check";
import { expect, test } from "vitest";
import { formatAcknowledgement, parseAcknowledgement, parseSubprotocols, toSubprotocols } from "./websocket.ts";

test("any token and session id travel as subprotocols and back", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.string({ minLength: 1, unit: "grapheme" }), (sessionId, token) => {
      const protocols = toSubprotocols({ sessionId, token });
      expect(protocols.every((protocol) => /^[\w.!#$%&'*+^`|~-]+$/.test(protocol))).toBe(true);
      expect(parseSubprotocols(protocols.join(", "))).toEqual({ sessionId, token });
    }),
  );
});

test("a header from anywhere is survived", () => {
  fc.assert(fc.property(fc.string(), (header) => void parseSubprotocols(header)));
  expect(parseSubprotocols("a2e.v1, a2e.bearer.zz, chat")).toEqual({ token: undefined });
});

test("an acknowledgement is read back, and no other frame is taken for one", () => {
  expect(parseAcknowledgement(formatAcknowledgement(512))).toBe(512);
  for (const text of [
    '{"type":"session/ack"}',
    '{"type":"session/ack","seq":-1}',
    '{"type":"ping"}',
    "",
    `${formatAcknowledgement(1)}\n{}`,
  ]) {
    expect(parseAcknowledgement(text)).toBeUndefined();
  }
});
