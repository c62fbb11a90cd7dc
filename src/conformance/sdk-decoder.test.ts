import { describe, expect, test } from "vitest";
import { decodeAsSdk, readStreamAsSdk } from "./sdk-decoder.ts";

const result = { success: true, tool_name: "echo", duration_ms: 1 };

function problemsOf(message: object): readonly string[] {
  const decoded = decodeAsSdk(JSON.stringify(message));
  return decoded.kind === "refused" ? decoded.problems : [];
}

describe("the SDK's decoder", () => {
  test("accepts a message without id, ts and fields with a default", () => {
    expect(decodeAsSdk('{"type":"handshake/resp"}').kind).toBe("message");
  });

  test("ignores unknown fields", () => {
    expect(problemsOf({ type: "pong", a2e: "1.0", whatever: [null] })).toEqual([]);
  });

  test("makes a generic message of an unknown type", () => {
    expect(decodeAsSdk('{"type":"session/closed","req_id":7}')).toEqual({ kind: "generic", type: "session/closed" });
    expect(decodeAsSdk('{"type":"toString"}').kind).toBe("generic");
  });

  test("rejects null if a field is not optional", () => {
    expect(problemsOf({ type: "error", code: "x", message: null, detail: null })).toEqual([
      "message: expected string, got null",
      "detail: expected object, got null",
    ]);
    expect(
      problemsOf({ type: "tool/call/resp", data: { ...result, error: null, exit_code: null, data: null } }),
    ).toEqual([]);
  });

  test("refuses a fraction in an integer and takes a whole float", () => {
    expect(problemsOf({ type: "tool/call/resp", data: { ...result, duration_ms: 1.5 } })).toHaveLength(1);
    expect(decodeAsSdk('{"type":"tool/event","seq":2.0}').kind).toBe("message");
  });

  test("refuses a missing field that has no default", () => {
    expect(problemsOf({ type: "error" })).toEqual(["code: is missing"]);
    expect(problemsOf({ type: "tool/call/resp", data: { success: true } })).toEqual([
      "data.tool_name: is missing",
      "data.duration_ms: is missing",
    ]);
  });

  test("drops a whole handshake over a single foreign capability", () => {
    const accepted_caps = [{ capability: "tools" }, { capability: "skills" }];
    expect(problemsOf({ type: "handshake/resp", accepted_caps })).toHaveLength(1);
  });

  test("rejects event data that is not an object", () => {
    for (const data of ["text", 1, null, []]) expect(problemsOf({ type: "tool/event", data })).toHaveLength(1);
  });

  test("refuses an entry of memory whose key is a text, whose tier is unknown or whose ttl is a fraction", () => {
    const entry = { key: { key: "a" }, content: null, tier: "working", ttl: 0 };
    expect(problemsOf({ type: "memory/store/resp", stored: [entry], errors: [] })).toEqual([]);
    for (const bad of [{ key: "a" }, { tier: "lasting" }, { ttl: 1.5 }])
      expect(problemsOf({ type: "memory/retrieve/resp", entries: [{ ...entry, ...bad }] })).toHaveLength(1);
  });

  test("looks into parameters of parameters", () => {
    const inner = { name: "b", type: "string" };
    const tool = {
      name: "t",
      description: "",
      input_parameters: [{ name: "a", type: "object", description: "", properties: { b: inner } }],
    };
    expect(problemsOf({ type: "tool/list/resp", tools: [tool] })).toEqual([
      "tools[0].input_parameters[0].properties[b].description: is missing",
    ]);
  });

  test.each(["", "[]", "null", "{", '{"type":5}', '{"type":"ping","ts":NaN}'])("refuses %s", (line) => {
    expect(decodeAsSdk(line).kind).toBe("refused");
  });
});

describe("a stream as the SDK reads it", () => {
  test("yields escaped messages whole, in either encoding", () => {
    const stream = Buffer.from(': open\n\nid: 1\ndata: {"text":"\\u2028\\u0085\\u00e9"}\n\n');
    for (const encoding of ["utf-8", "latin1"] as const)
      expect(readStreamAsSdk(stream, encoding)).toEqual(['{"text":"\\u2028\\u0085\\u00e9"}']);
  });

  test("cuts raw separators and spoils raw accents, as the SDK does", () => {
    expect(readStreamAsSdk(Buffer.from('data: {"a":"x\u2028y"}\n\n'), "utf-8")).toEqual(['{"a":"x']);
    expect(readStreamAsSdk(Buffer.from('data: {"a":"\u0085"}\n\n'), "latin1")).not.toEqual(['{"a":"\u0085"}']);
    expect(readStreamAsSdk(Buffer.from('data: {"a":"é"}\n\n'), "latin1")).toEqual(['{"a":"Ã©"}']);
  });
});
