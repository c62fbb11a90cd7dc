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
])("%j is not a valid tool result", (result) => {
  expect(findFlaw(result)).toEqual(expect.any(String));
});

const asItIs = (text: string) => text;

test("results of a server are passed on: known blocks in the spelling of A2E, others unchanged", () => {
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

test("a result without content gets an empty content, and a failure without a text gets a default text", () => {
  expect(toToolOutput(toCallResult({}, sdk), "s", asItIs)).toEqual({ data: { content: [] } });
  expect(toToolOutput(toCallResult({ isError: true }, sdk), "s", asItIs).error).toBe(
    "the tool failed without an error text",
  );
});
