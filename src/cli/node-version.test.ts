import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findNodeProblem } from "./node-version.ts";

test.each(["20.19.0", "20.20.2", "21.7.3", "22.0.0", "24.4.0", "25.0.0-nightly"])("Node %s will do", (version) => {
  expect(findNodeProblem(version)).toBeUndefined();
});

test.each(["0.12.18", "18.20.8", "20.9.0", "20.18.3"])(
  "Node %s gets a message with the required version",
  (version) => {
    expect(findNodeProblem(version)).toBe(`a2e needs Node 20.19 or newer; this is ${version}`);
  },
);

test("the command asks before it links anything else", () => {
  const main = readFileSync(new URL("main.ts", import.meta.url), "utf8");
  expect(main.match(/^import .*/gm)).toEqual(['import { findNodeProblem } from "./node-version.ts";']);
});
