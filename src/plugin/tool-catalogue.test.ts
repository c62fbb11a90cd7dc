import { expect, test, vi } from "vitest";
import { type CatalogueTool, ToolCatalogue } from "./tool-catalogue.ts";

function tool(name: string, source = "test"): CatalogueTool {
  return {
    name,
    description: name,
    kind: "function",
    tags: [],
    version: "1.0",
    inputSchema: {},
    isIdempotent: true,
    isStreaming: false,
    isDeferred: false,
    source,
    check: (value) => ({ value }),
    run: () => ({ data: null }),
  };
}

const names = (catalogue: ToolCatalogue) => catalogue.list().map(({ name }) => name);

test("tools are found by name and listed in the order in which they came", () => {
  const catalogue = new ToolCatalogue();
  catalogue.add([tool("b"), tool("a")]);
  catalogue.add([tool("c")]);
  expect(names(catalogue)).toEqual(["b", "a", "c"]);
  expect(catalogue.get("a")?.name).toBe("a");
  for (const missing of ["d", "constructor", "__proto__"]) expect(catalogue.get(missing)).toBeUndefined();
});

test("a name that is taken is refused with both sources, and none of the new tools is added", () => {
  const catalogue = new ToolCatalogue();
  catalogue.add([tool("a", "first")]);
  expect(() => catalogue.add([tool("b", "second"), tool("a", "second")])).toThrow(/"a" of second .* from first/);
  expect(names(catalogue)).toEqual(["a"]);
});

test("a name that comes twice at once is refused as well", () => {
  const catalogue = new ToolCatalogue();
  expect(() => catalogue.add([tool("a"), tool("a")])).toThrow('"a"');
  expect(names(catalogue)).toEqual([]);
});

test("tools are taken away together, once, and a successor of the same name stays", () => {
  const catalogue = new ToolCatalogue();
  const remove = catalogue.add([tool("a"), tool("b")]);
  remove();
  const successor = tool("a");
  catalogue.add([successor]);
  remove();
  expect(catalogue.list()).toEqual([successor]);
});

test("a session sees the host's tools beneath its own, and the host does not see the session's", () => {
  const host = new ToolCatalogue();
  const session = new ToolCatalogue(host);
  session.add([tool("own")]);
  host.add([tool("shared")]);
  expect(names(session)).toEqual(["shared", "own"]);
  expect(names(host)).toEqual(["shared"]);
  expect(() => session.add([tool("shared")])).toThrow("exists already");
});

test("where the host is given a name that a session has, the session keeps its own and lists it once", () => {
  const host = new ToolCatalogue();
  const session = new ToolCatalogue(host);
  const own = tool("a");
  session.add([own]);
  host.add([tool("a")]);
  expect(session.get("a")).toBe(own);
  expect(session.list()).toEqual([own]);
});

test("listeners hear of additions and removals here and above, until they leave", () => {
  const host = new ToolCatalogue();
  const session = new ToolCatalogue(host);
  const listener = vi.fn();
  const stop = session.onChange(listener);
  const remove = host.add([tool("a")]);
  session.add([tool("b")]);
  remove();
  remove();
  expect(listener).toHaveBeenCalledTimes(3);
  stop();
  host.add([tool("c")]);
  expect(listener).toHaveBeenCalledTimes(3);
});

test("a refused addition is no change", () => {
  const catalogue = new ToolCatalogue();
  catalogue.add([tool("a")]);
  const listener = vi.fn();
  catalogue.onChange(listener);
  expect(() => catalogue.add([tool("a")])).toThrow();
  expect(listener).not.toHaveBeenCalled();
});

test("what others offer is listed last wherever it was added", () => {
  const host = new ToolCatalogue();
  const session = new ToolCatalogue(host);
  const remove = host.add([{ ...tool("theirs"), isOutside: true }]);
  host.add([tool("ours")]);
  session.add([{ ...tool("their own"), isOutside: true }]);
  session.add([tool("own")]);
  expect(names(session)).toEqual(["ours", "own", "theirs", "their own"]);
  remove();
  expect(names(session)).toEqual(["ours", "own", "their own"]);
});
