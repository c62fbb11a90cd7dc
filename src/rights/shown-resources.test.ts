import { expect, test } from "vitest";
import { compileRights, everything } from "./rights.ts";
import { showResources } from "./shown-resources.ts";
import { callOf, tableCalls } from "./table-calls.suite.ts";

const rights = compileRights({ own: { allow: ["*"], deny: ["tool:js_eval", "env:secret"] } }, ["own"]);

test("an answer shows only the resources that may be used, and its other fields", () => {
  const result = { tools: [{ name: "echo" }, { name: "js_eval" }], more: 1 };
  expect(showResources(rights, callOf("tool/list"), result)).toEqual({ tools: [{ name: "echo" }], more: 1 });
  expect(result.tools).toHaveLength(2);
});

test("a call that names a resource may list others, which are left out too", () => {
  const result = { env_name: "counter", environments: [{ name: "counter" }, { name: "secret" }] };
  expect(showResources(rights, callOf("env/space"), result).environments).toEqual([{ name: "counter" }]);
});

test("an answer is not copied if nothing is left out", () => {
  const result = { tools: [{ name: "echo" }] };
  expect(showResources(rights, callOf("tool/list"), result)).toBe(result);
  expect(showResources(everything, callOf("tool/list"), { tools: [{ name: "js_eval" }] }).tools).toHaveLength(1);
});

test("for every call, its example is shown whole with all rights, and items without a name are not shown", () => {
  for (const entry of tableCalls) {
    const result = entry.call.example.result as never;
    expect(showResources(compileRights({}, ["operator"]), entry, result)).toBe(result);
  }
  const nothing = compileRights({}, []);
  expect(showResources(nothing, callOf("tool/list"), { tools: [null, 7, { name: 7 }] })).toEqual({ tools: [] });
});
