import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createResourceReader } from "./resources.ts";
import { callOf, tableCalls } from "./table-calls.suite.ts";

const read = (
  type: string,
  request: Record<string, unknown>,
  resolve?: (kind: string, id: string) => string | undefined,
) => createResourceReader(callOf(type).call.about)(request, resolve);

test.each([
  ["tool/call", { tool_name: "echo" }, ["echo"]],
  ["tool/call", { tool_name: "" }, "every"],
  ["tool/call", {}, "every"],
  ["tool/list", {}, "some"],
  ["toolkit/install", { toolkit_name: "weather", name: "" }, ["weather"]],
  ["toolkit/install", { toolkit_name: "weather", name: "shell" }, ["weather", "shell"]],
  ["mcp/server/register", { config: { server_id: "files" } }, ["files"]],
  ["mcp/server/register", { server_id: "files", config: { server_id: 7 } }, "every"],
  ["mcp/server/register", { config: { name: "files" } }, "every"],
  ["proc/spawn", { cmd: ["git", "push"] }, ["git"]],
  ["proc/spawn", { cmd: ["/usr/bin/git"] }, ["/usr/bin/git", "git"]],
  ["proc/spawn", { cmd: "git push" }, "every"],
  ["proc/spawn", { cmd: [] }, "every"],
  ["skill/call", { name: "plan@1.2" }, ["plan"]],
  ["skill/call", { name: "@plan" }, ["@plan"]],
  ["skill/call", { name: "a@b@1" }, ["a@b"]],
  ["env/step", { episode_id: "e" }, "some"],
  ["env/batch_step", { episode_ids: ["e"] }, "some"],
  ["planning/plan/create", { name: "release" }, "every"],
  ["ping", {}, "every"],
] as const)("%s of %j is about %j", (type, request, expected) => {
  expect(read(type, request)).toEqual(expected);
});

test("an id is resolved by the plugin, and is about every resource if the plugin does not know it", () => {
  const resolve = (kind: string, id: string) =>
    kind === "ns" && id === "mem_1" ? "notes" : id === "" ? "default" : undefined;
  expect(read("memory/store", { memory_id: "mem_1" }, resolve)).toEqual(["notes"]);
  expect(read("memory/store", { memory_id: "" }, resolve)).toEqual(["default"]);
  expect(read("memory/store", { memory_id: "mem_2" }, resolve)).toBe("every");
  expect(read("memory/store", { memory_id: "mem_1" })).toBe("every");
});

test("all items of a list are named, and an item without a name makes it every resource", () => {
  const about = { access: "write", resource: "tool", from: ["tools.*.name", "tools.*.again"] } as const;
  const names = createResourceReader(about);
  expect(names({ tools: [{ name: "a", again: "b" }] })).toEqual(["a", "b"]);
  expect(names({ tools: [{ name: "a", again: "b" }, { name: "" }] })).toBe("every");
  expect(names({ tools: [] })).toBe("every");
  expect(names({ tools: "a" })).toBe("every");
});

test("an inherited field is not a name", () => {
  const names = createResourceReader({ access: "read", resource: "tool", from: "constructor" });
  expect(names({})).toBe("every");
});

test("any request is read without an exception, and names are texts that are not empty", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...tableCalls),
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.jsonValue(),
      (entry, rest, value) => {
        const fields = Object.keys(entry.call.request.shape);
        const request = { ...rest, ...Object.fromEntries(fields.map((field) => [field, value])) };
        const found = createResourceReader(entry.call.about)(request);
        if (typeof found !== "string") for (const name of found) expect(name).toMatch(/[\s\S]/);
      },
    ),
  );
});
