import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  addMirrors,
  canonicalCapability,
  capabilitySpellings,
  detectDialect,
  protocolCapabilities,
} from "./dialects.ts";
import { jsonObject } from "./json.ts";
import { call } from "./table/capability.ts";

describe("names of capabilities", () => {
  test.each(Object.entries(capabilitySpellings))("%s is meant by itself and by its other spellings", (name, others) => {
    for (const spelling of [name, ...others]) {
      expect(canonicalCapability(spelling)).toBe(name);
      expect(canonicalCapability(spelling.toUpperCase())).toBe(name);
    }
  });

  test("no spelling means two capabilities", () => {
    const spellings = Object.entries(capabilitySpellings).flatMap(([name, others]) => [name, ...others]);
    expect(new Set(spellings).size).toBe(spellings.length);
  });

  test.each(["streaming", "Weather", "", "toString", "__proto__", "constructor"])(
    "%j is not a capability name of either dialect and stays unchanged",
    (name) => {
      expect(canonicalCapability(name)).toBe(name);
    },
  );

  test("the names of the protocol are those of the SDK's enum", () => {
    expect([...protocolCapabilities].sort()).toEqual(
      [
        "skill",
        "tools",
        "toolkits",
        "env",
        "proc",
        "memory",
        "learning",
        "chains",
        "multi_agent",
        "planning",
        "mcp",
        "test",
      ].sort(),
    );
  });
});

describe("detectDialect", () => {
  test.each([
    [{ version: "1.0" }, "sdk"],
    [{ a2e: "1.0" }, "docs"],
    [{ a2e: "1.0", version: "1.0" }, "full"],
    [{}, "sdk"],
  ] as const)("a peer that sends %j speaks %s", (fields, dialect) => {
    expect(detectDialect({ type: "handshake/req", id: "a", ...fields })).toBe(dialect);
  });
});

describe("addMirrors", () => {
  const mirrored = call("x/req", "x/resp", {
    about: { access: "write" },
    doc: "",
    request: z.object({}),
    result: z.object({ state: jsonObject.default({}), list: z.array(z.string()).default([]) }),
    mirrors: { observation: "state", colour: "state.paint.colour", first: "list.0", other: "nothing" },
    example: { request: {}, result: {} },
  });

  test("repeats fields under their second names, from within objects too", () => {
    const result = { state: { paint: { colour: "red" } }, list: ["a"] };
    addMirrors(mirrored, result);
    expect(result).toEqual({
      state: { paint: { colour: "red" } },
      list: ["a"],
      observation: { paint: { colour: "red" } },
      colour: "red",
    });
  });

  test("adds no mirror for a missing field", () => {
    for (const state of [null, "text", 1, {}, { paint: null }, { paint: ["red"] }]) {
      const result = { state, list: [] };
      addMirrors(mirrored, result);
      expect(Object.keys(result)).toEqual(["state", "list", "observation"]);
    }
  });

  test("keeps a second name that a handler filled itself, with null too", () => {
    const result = { state: { a: 1 }, observation: null, colour: "blue", list: [] };
    addMirrors(mirrored, result);
    expect(result).toEqual({ state: { a: 1 }, observation: null, colour: "blue", list: [] });
  });
});
