import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../protocol/json.ts";
import { call, capability } from "../protocol/table/capability.ts";
import { createTypeRegistry } from "../protocol/table/registry.ts";
import { createConcealment } from "./concealment.ts";

const vault = capability("vault", {
  doc: "Keeps things.",
  calls: {
    put: call("vault/put/req", "vault/put/resp", {
      about: { access: "write" },
      doc: "Puts.",
      aliases: { "vault/put": "vault/put/resp" },
      concealed: ["content"],
      request: z.object({
        content: z.unknown(),
        label: z
          .string()
          .max(10)
          .regex(/^[a-z]*$/)
          .default(""),
        isLocked: z.boolean().default(false),
        tags: z.array(z.object({ name: z.string(), weight: z.number().min(1).default(1) })).default([]),
      }),
      result: z.object({}),
      example: { request: { content: {} }, result: {} },
    }),
  },
});
const { ofLine: conceal, ofRequest } = createConcealment(createTypeRegistry([vault]));

test.each(["vault/put/req", "vault/put"])("concealed fields of %s are emptied, others stay", (type) => {
  const line = JSON.stringify({ type, id: "1", label: "content", content: { key: "hunter2" } });
  expect(JSON.parse(conceal(line))).toEqual({ type, id: "1", label: "content", content: {} });
});

test.each([
  ["text", ""],
  [7, 0],
  [true, false],
  [[1], []],
  [null, null],
  [{ a: 1 }, {}],
])("%j becomes %j, which is of its type", (content, empty) => {
  expect(JSON.parse(conceal(JSON.stringify({ type: "vault/put", content })))).toEqual({
    type: "vault/put",
    content: empty,
  });
});

test("no way of writing the message keeps the secret in it", () => {
  for (const line of [
    '{"type":"vault/put","c\\u006fntent":"hunter2"}',
    '{"type":"vault\\/put","content":"hunter2"}',
    '{"type":"vault\\u002fput","content":"hunter2"}',
    '{"type":"vault/put","content":"hunter2","content":{"again":"hunter2"}}',
    '{"type":"vault/put","content":"hunter2","number":NaN}',
    '  {"content":["hunter2"],"type":"vault/put"}  ',
    // These types do not exist, but a misspelled request may contain a secret.
    '{"type":"vault/putt","content":"hunter2"}',
    '{"content":"hunter2"}',
    '{"type":7,"content":"hunter2"}',
    '{"type":"vault/put","content":"hunter2"',
    '{"type":"vault/put","content":{"password":"hunter2","again":"\\"hunter2"},}',
    '{"type":"vault/put","content":"hunter2',
    '{"type":"vault/put","contnet":"hunter2"}',
    '{"type":"vault\\/put","contnet":{"password":"hunter2"}}',
    '{"type":"vault/put","contnet":"hunter2"',
  ])
    expect(conceal(line)).not.toContain("hunter2");
});

test("the token of a handshake is emptied", () => {
  expect(conceal('{"type":"handshake/req","auth_token":"hunter2"}')).not.toContain("hunter2");
});

test("a field that the request does not have is emptied as well, and those of every message stay", () => {
  const rest = { type: "vault/put", id: "1", a2e: "1.0", version: "1.0", ts: 7, req_id: "2", label: "l", content: {} };
  const line = JSON.stringify({ ...rest, contnet: { key: "hunter2" } });
  expect(JSON.parse(conceal(line))).toEqual({ ...rest, contnet: {} });
});

test("other messages, and lines that are not messages, are returned unchanged", () => {
  for (const line of ['{"type":"ping","content":"\\u0041"}', "no JSON with content", "null", "[1]", '"content"', ""])
    expect(conceal(line)).toBe(line);
});

test("a line that is not JSON is still invalid at the same position", () => {
  for (const line of [
    '{"content":"hunter2"',
    '{"content":"hunter2",}',
    '{"type":"vault/put","content":{"a":"hunter2"]}',
  ]) {
    const problemOf = (text: string) => {
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(problemOf(conceal(line))).toBe(problemOf(line));
    expect(conceal(line)).toHaveLength(line.length);
  }
});

test.each<JsonObject>([
  { isLocked: "hunter2" },
  { isLocked: { hunter2: ["hunter2"] } },
  { label: { password: "hunter2" } },
  { label: "hunter2 hunter2" },
  { label: "Hunter2 hunter2".slice(0, 9) },
  { label: "hunter", isLocked: 7 },
  { tags: [{ name: "hunter2", weight: 0 }, { name: { is: "hunter2" } }] },
])("%j, which is refused, is concealed in all its fields and refused with the same words", (fields) => {
  const request = { type: "vault/put", id: "1", version: "1.0", content: "hunter2", ...fields };

  const shown = JSON.parse(conceal(JSON.stringify(request))) as JsonObject;

  expect(JSON.stringify(shown).toLowerCase()).not.toContain("hunter");
  expect(shown).toMatchObject({ type: "vault/put", id: "1", version: "1.0" });
  expect(vault.calls.put.parseRequest(shown)).toEqual(vault.calls.put.parseRequest(request));
  expect(vault.calls.put.parseRequest(shown)).toBeInstanceOf(Error);
});

test("a request that is not a line is concealed by its type, and is not changed itself", () => {
  const request = { label: "content", content: { key: "hunter2" } };
  for (const type of ["vault/put/req", "vault/put", "vault/putt"])
    expect(ofRequest(type, request)).toEqual({ label: "content", content: {} });
  expect(request.content).toEqual({ key: "hunter2" });
  expect(ofRequest("ping", request)).toBe(request);
});
