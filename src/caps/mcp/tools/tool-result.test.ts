import { expect, test } from "vitest";
import { toToolOutput } from "../content/content.ts";
import { loadSdk } from "../sdk/sdk.ts";
import { findFlaw, toCallResult } from "./tool-result.ts";

const sdk = await loadSdk();

test.each([
  [null],
  ["text"],
  [{ content: "text" }],
  [{ content: [null] }],
  [{ content: [{ text: "no type" }] }],
  [{ content: [{ type: "text", text: 1 }] }],
  [{ content: [{ type: "image", data: "AA" }] }],
  [{ content: [{ type: "resource", resource: { uri: "a:b" } }] }],
  [{ content: [{ type: "resource_link", uri: "a:b" }] }],
  [{ content: [], isError: "yes" }],
])("%j is no result of a tool", (result) => {
  expect(findFlaw(result)).toEqual(expect.any(String));
});

const asItIs = (text: string) => text;

test("what a server returns is passed on: known blocks in our spelling, others as they are", () => {
  const result = {
    content: [
      { type: "text", text: "a", annotations: { priority: 1 } },
      { type: "audio", data: "AA", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "a:b", blob: "AA" } },
      { type: "hologram", depth: 3 },
    ],
    structuredContent: [1, 2],
  };

  expect(findFlaw(result)).toBeUndefined();
  expect(toToolOutput(toCallResult(result, sdk), "s", asItIs).data).toEqual({
    content: [
      { type: "text", text: "a", annotations: { priority: 1 } },
      { type: "audio", data: "AA", mime_type: "audio/wav" },
      { type: "resource", resource: { uri: "a:b", blob: "AA", mime_type: "application/octet-stream", type: "blob" } },
      { type: "hologram", depth: 3 },
    ],
    structured: [1, 2],
  });
});

test("a result without content is an empty one, and a failure without words says so", () => {
  expect(toToolOutput(toCallResult({}, sdk), "s", asItIs)).toEqual({ data: { content: [] } });
  expect(toToolOutput(toCallResult({ isError: true }, sdk), "s", asItIs).error).toBe(
    "the tool failed without an error text",
  );
});
