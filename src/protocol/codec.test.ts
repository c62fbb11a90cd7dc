import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFakeIds } from "../testing/fake-ids.ts";
import { createMessage, decodeLine, decodeValue, encodeMessage, tooLong } from "./codec.ts";
import { coreErrors } from "./errors.ts";

/** Any UTF-16 code unit, halves of pairs included. */
const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

const limits = { maxLineBytes: 200, maxDepth: 4, maxIdLength: 8 };

function decode(line: string) {
  return decodeLine(line, limits, createFakeIds("made"));
}

describe("decodeLine", () => {
  test("a message comes out as it went in, and is to be answered under its id", () => {
    const line = '{"type":"ping","id":"a1","extra":{"kept":[1]},"version":"1.0"}';
    expect(decode(line)).toEqual({ message: JSON.parse(line), req_id: "a1" });
  });

  test.each(["", "null"])("a message whose id is %j gets an id for its handler and an answer without req_id", (id) => {
    const decoded = decode(`{"type":"ping","id":${id === "" ? '""' : id},"a":1}`);
    expect(decoded).toEqual({ message: { type: "ping", id: "made-1", a: 1 } });
  });

  test("a message without an id gets an id for its handler and an answer without req_id", () => {
    expect(decode('{"type":"ping"}')).toEqual({ message: { type: "ping", id: "made-1" } });
  });

  test.each<[string, string, string | undefined]>([
    ["", "parse_error", undefined],
    ["{", "parse_error", undefined],
    ['{"type":"ping","id":"a"} {"type":"ping","id":"b"}', "parse_error", undefined],
    ["\u0000", "parse_error", undefined],
    ["[]", "invalid_message", undefined],
    ['[{"type":"ping","id":"a"}]', "invalid_message", undefined],
    ["null", "invalid_message", undefined],
    ["NaN", "invalid_message", undefined],
    ["7", "invalid_message", undefined],
    ['"ping"', "invalid_message", undefined],
    ["{}", "schema_violation", undefined],
    ['{"id":"a"}', "schema_violation", "a"],
    ['{"id":"a","type":""}', "schema_violation", "a"],
    ['{"id":"a","type":7}', "schema_violation", "a"],
    ['{"id":"a","type":["ping"]}', "schema_violation", "a"],
    ['{"id":7,"type":"ping"}', "schema_violation", "7"],
    ['{"id":-1.5,"type":"ping"}', "schema_violation", "-1.5"],
    ['{"id":true,"type":"ping"}', "schema_violation", undefined],
    ['{"id":{"a":1},"type":"ping"}', "schema_violation", undefined],
    ['{"id":["a"],"type":"ping"}', "schema_violation", undefined],
    ['{"id":"123456789","type":"ping"}', "schema_violation", undefined],
    ['{"id":"a","type":"ping","x":[[[[]]]]}', "invalid_message", "a"],
    ['{"type":"ping","x":[[[[]]]]}', "invalid_message", undefined],
    [`{"id":"a","type":"ping","x":"${"x".repeat(200)}"}`, "invalid_message", undefined],
  ])("%s is refused with %s", (line, code, req_id) => {
    const { error, message, ...rest } = decode(line);
    expect(message).toBeUndefined();
    expect(error?.code).toBe(code);
    expect(error?.retryable).toBe(false);
    expect(rest).toEqual(req_id === undefined ? {} : { req_id });
  });

  test("a line that is just within the limits is accepted", () => {
    expect(decode('{"id":"12345678","type":"ping","x":[[[]]]}').req_id).toBe("12345678");
    const longest = '{"id":"a","type":"ping","x":""}'.length;
    expect(decode(`{"id":"a","type":"ping","x":"${"x".repeat(200 - longest)}"}`).error).toBeUndefined();
    expect(decode(`{"id":"a","type":"ping","x":"${"x".repeat(201 - longest)}"}`).error?.code).toBe("invalid_message");
  });

  test("a rejected line names what to fix", () => {
    expect(decode('{"id":"a"}').error?.detail).toEqual({
      issues: [{ path: "type", message: "expected a message type" }],
    });
    expect(decode('{"id":7,"type":"x"}').error?.detail).toEqual({
      issues: [{ path: "id", message: "expected a string" }],
    });
    expect(decode('{"id":"a","type":"x","x":[[[[]]]]}').error?.detail).toEqual({ limit: "maxDepth", max_depth: 4 });
    expect(tooLong(limits).error?.detail).toEqual({ limit: "maxLineBytes", max_bytes: 200 });
  });

  test("any text yields a message or one declared error, and never an exception", () => {
    const messageLike = fc.record(
      {
        type: fc.oneof(fc.string(), fc.jsonValue()),
        id: fc.oneof(fc.string(), fc.jsonValue()),
        version: fc.jsonValue(),
        req_id: fc.jsonValue(),
        __proto__: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const text = fc.oneof(
      fc.string({ unit: codeUnit }),
      fc.json({ maxDepth: 8 }),
      messageLike.map((value) => JSON.stringify(value)),
      fc.string({
        unit: fc.constantFrom("{", "}", "[", "]", '"', ":", ",", "NaN", "\\", "\\u005f", "__proto__", "1", "\n"),
      }),
    );
    fc.assert(
      fc.property(text, (line) => {
        const decoded = decode(line);
        expect((decoded.message === undefined) !== (decoded.error === undefined)).toBe(true);
        if (decoded.error !== undefined) expect(Object.keys(coreErrors)).toContain(decoded.error.code);
        if (decoded.message === undefined) return;
        expect(decoded.message.type).toBeTypeOf("string");
        expect(decoded.message.id).toBe(decoded.req_id ?? "made-1");
        expect(Object.hasOwn(decoded.message, "__proto__")).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  test("a line that nests without end is refused, however it is spelled", () => {
    const roomy = { ...limits, maxLineBytes: 10_000_000 };
    for (const key of ["x", "__proto__", "\\u005f_proto__"]) {
      const line = `{"id":"a","type":"ping","${key}":1,"y":${'{"z":'.repeat(100_000)}1${"}".repeat(100_000)}}`;
      expect(decodeLine(line, roomy, createFakeIds())).toMatchObject({
        error: { code: "invalid_message" },
        req_id: "a",
      });
    }
  });
});

describe("decodeValue", () => {
  test("a message that belongs to its sender is not modified", () => {
    const message = Object.freeze({ type: "ping" });
    expect(decodeValue(message, limits, createFakeIds("made"))).toEqual({ message: { type: "ping", id: "made-1" } });
    expect(message).toEqual({ type: "ping" });
  });

  test("lends a message with an id on as it is: copying is up to its table", () => {
    const message = { type: "ping", id: "a" };
    expect(decodeValue(message, limits, createFakeIds()).message).toBe(message);
  });

  test.each([undefined, null, 1, "x", () => 1, Symbol("s"), 1n, []])("%s is not a message", (value) => {
    expect(decodeValue(value, limits, createFakeIds()).error?.code).toBe("invalid_message");
  });
});

describe("encodeMessage and createMessage", () => {
  test("a created message carries both names of the version and seconds as a float", () => {
    expect(createMessage("pong", "a", 1_789_000_000_500, { req_id: "b" })).toEqual({
      type: "pong",
      id: "a",
      a2e: "1.0",
      version: "1.0",
      ts: 1_789_000_000.5,
      req_id: "b",
    });
  });

  test("an encoded message is a single line that decodes to the same message", () => {
    const fields = fc.dictionary(fc.stringMatching(/^f_/), fc.jsonValue({ maxDepth: 1 }));
    fc.assert(
      fc.property(fields, (extra) => {
        const message = createMessage("tool/call/req", "a", 0, JSON.parse(JSON.stringify(extra)));
        const line = encodeMessage(message);
        fc.pre(line.length <= 5_000 && !line.includes("__proto__"));
        expect(line).not.toContain("\n");
        expect(decodeLine(line, { ...limits, maxLineBytes: 5_000 }, createFakeIds()).message).toEqual(message);
      }),
    );
  });
});
