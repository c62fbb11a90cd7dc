import { expect, test } from "vitest";
import { type CallOutcome, toCallResult } from "./content.ts";

function outcome(fields: Partial<CallOutcome>): CallOutcome {
  return { success: true, data: null, summary: null, truncated: false, error: null, error_code: null, ...fields };
}

test("text stays text, an object becomes text and structured content, null becomes nothing", () => {
  expect(toCallResult(outcome({ data: "tea" }))).toEqual({ content: [{ type: "text", text: "tea" }] });
  expect(toCallResult(outcome({ data: { a: 1 } }))).toEqual({
    content: [{ type: "text", text: '{"a":1}' }],
    structuredContent: { a: 1 },
  });
  expect(toCallResult(outcome({}))).toEqual({ content: [] });
});

test("a list is structured content only if the tool has an output schema", () => {
  expect(toCallResult(outcome({ data: [1] })).structuredContent).toBeUndefined();
  expect(toCallResult(outcome({ data: [1] }), { type: "array" }).structuredContent).toEqual([1]);
});

test("content blocks are accepted in the spelling of A2E and of MCP", () => {
  const resource = { uri: "x:y", mime_type: "text/plain", text: "", blob: "AA==", type: "blob" };
  const content = [
    { type: "image", data: "AA==", mime_type: "image/png" },
    { type: "image", data: "AA==", mimeType: "image/png" },
    { type: "resource", resource },
    { type: "resource_link", uri: "x:y", name: "y", description: "", mime_type: "", server_id: "", annotations: {} },
  ];

  const result = toCallResult(outcome({ data: { content, structured: { n: 1 } } }));

  expect(result).toMatchObject({
    content: [
      { type: "image", mimeType: "image/png" },
      { type: "image", mimeType: "image/png" },
      { type: "resource", resource: { uri: "x:y", mimeType: "text/plain", blob: "AA==" } },
      { type: "resource_link", uri: "x:y", name: "y" },
    ],
    structuredContent: { n: 1 },
  });
  expect(result.content[2]).not.toHaveProperty("resource.text");
});

test("data that only looks like content is data", () => {
  for (const data of [{ content: "text" }, { content: [{ type: "image" }] }, { content: ["a"] }]) {
    expect(toCallResult(outcome({ data }))).toEqual({
      content: [{ type: "text", text: JSON.stringify(data) }],
      structuredContent: data,
    });
  }
});

test("a failure begins with its reason, and a truncated result is marked", () => {
  const failed = outcome({
    success: false,
    data: { seen: 1 },
    error: "no tea",
    error_code: "tool_error",
    exit_code: 2,
  });
  expect(toCallResult(failed)).toMatchObject({
    isError: true,
    content: [{ text: "no tea" }, { text: '{"seen":1}' }],
    _meta: { "a2e/error_code": "tool_error", "a2e/exit_code": 2 },
  });
  expect(toCallResult(outcome({ data: "te", truncated: true, summary: "more" }))).toMatchObject({
    content: [{ text: "more" }, { text: "te" }],
    _meta: { "a2e/truncated": true },
  });
});
