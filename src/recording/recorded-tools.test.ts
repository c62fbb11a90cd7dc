import { expect, test } from "vitest";
import { type CatalogueTool, ToolCatalogue } from "../plugin/tool-catalogue.ts";
import { ToolsOnRecord } from "./recorded-tools.ts";

const tool = (name: string, isOutside: boolean): CatalogueTool => ({
  name,
  description: name,
  kind: "function",
  tags: [],
  version: "1.0",
  inputSchema: {},
  isIdempotent: true,
  isStreaming: false,
  isDeferred: false,
  source: isOutside ? "a server" : "the session",
  isOutside,
  check: (value) => ({ value }),
  run: () => ({ data: {} }) as never,
});

test("the tools of other plugins are recorded whenever they have changed, regardless of who changed them", () => {
  const host = new ToolCatalogue();
  const session = new ToolCatalogue(host);
  const remove = session.add([tool("same", false)]);
  const onRecord = new ToolsOnRecord(session);
  expect(onRecord.take()).toEqual([]);
  const removeOutside = host.add([tool("same", true)]);
  // The session's own covers it.
  expect(onRecord.take()).toBeUndefined();
  remove();
  expect(onRecord.take()).toMatchObject([{ name: "same", source: "a server" }]);
  session.add([tool("own", false)]);
  expect(onRecord.take()).toBeUndefined();
  host.add([tool("more", true)]);
  expect(onRecord.take()).toMatchObject(["same", { name: "more" }]);
  removeOutside();
  expect(onRecord.take()).toEqual(["more"]);
  onRecord.close();
});
