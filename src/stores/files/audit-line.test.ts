import fc from "fast-check";
import { expect, test } from "vitest";
import type { AuditEntry } from "../../host/ports/audit.ts";
import { createAuditLineWriter } from "./audit-line.ts";

const entry: AuditEntry = {
  ts: 1_700_000_000_123,
  session_id: "5f0c",
  principal: "key:ci",
  chain: ["k1"],
  agent_id: "agent-1",
  type: "tools/call/req",
  capability: "tools",
  req_id: "r1",
  n: 41,
  correlation_id: "",
  success: true,
  error_code: "",
  duration_ms: 1.5,
  bytes_in: 304,
  bytes_out: 0,
  nested_calls: 100,
  rule: "",
};

/** Wraps the writer so that it returns each line. The buffer starts small, so that it runs out of room. */
function createTextWriter(): (entry: AuditEntry) => string {
  const write = createAuditLineWriter();
  let buffer = Buffer.alloc(16);
  return (each) => {
    let end = write(each, buffer, 3);
    if (end < 0) {
      buffer = Buffer.alloc(3 - end);
      end = write(each, buffer, 3);
    }
    return buffer.toString("latin1", 3, end);
  };
}

test("a line has exactly the fields of an entry, in their order, with the time in seconds", () => {
  expect(createTextWriter()(entry)).toBe(
    '{"ts":1700000000.123,"session_id":"5f0c","principal":"key:ci","chain":["k1"],"agent_id":"agent-1","type":"tools/call/req","capability":"tools",' +
      '"req_id":"r1","n":41,"correlation_id":"","success":true,"error_code":"","duration_ms":1.500,"bytes_in":304,"bytes_out":0,' +
      '"nested_calls":100,"rule":""}\n',
  );
});

test("every entry is read back from its line, which is a single line of ASCII", () => {
  const writeLine = createTextWriter();
  const anyCode = fc.nat(0xffff).map((code) => String.fromCharCode(code));
  // Few of some, so that kept parts are met again, with the same and with another partner.
  const anyText = fc.oneof(
    fc.string({ unit: anyCode }),
    fc.constantFrom("", "a", "b", '"', "\\", "\n", "é", "x".repeat(300)),
  );
  const anyEntry: fc.Arbitrary<AuditEntry> = fc.record({
    ts: fc.nat(4_000_000_000_000),
    session_id: anyText,
    principal: anyText,
    chain: fc.array(anyText, { maxLength: 3 }),
    agent_id: anyText,
    type: anyText,
    capability: anyText,
    req_id: anyText,
    n: fc.nat(200),
    correlation_id: anyText,
    success: fc.boolean(),
    error_code: anyText,
    duration_ms: fc.nat(10_000_000).map((microseconds) => microseconds / 1000),
    bytes_in: fc.nat(),
    bytes_out: fc.nat(),
    nested_calls: fc.nat(100),
    rule: anyText,
  });
  fc.assert(
    fc.property(anyEntry, (any) => {
      const line = writeLine(any);
      expect(line).toMatch(/^[\x20-\x7e]*\n$/);
      expect(JSON.parse(line)).toEqual({ ...any, ts: any.ts / 1000 });
    }),
    { numRuns: 2000 },
  );
});

test.each([
  [0, 0],
  [0.0004, 0],
  [0.0005, 0.001],
  [0.9996, 1],
  [12.3456789, 12.346],
  [86_400_000, 86_400_000],
  [-0.25, -0.25],
  [Number.NaN, null],
  [Number.POSITIVE_INFINITY, null],
])("a duration of %d ms is written as %d", (duration_ms, written) => {
  const line = createTextWriter()({ ...entry, duration_ms });

  expect(JSON.parse(line)).toMatchObject({ duration_ms: written });
});

test("more sessions than are kept ready are written all the same", () => {
  const writeLine = createTextWriter();
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < 3000; index++) {
      const line = writeLine({ ...entry, session_id: `s${index}`, agent_id: `a${round}` });
      expect(line).toContain(`"session_id":"s${index}","principal":"key:ci","chain":["k1"],"agent_id":"a${round}"`);
    }
  }
});
