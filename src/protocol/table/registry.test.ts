import { describe, expect, test } from "vitest";
import * as z from "zod";
import { tables } from "../../caps/tables.generated.ts";
import { core } from "../core.ts";
import { type CapabilitySpec, call, capability, push } from "./capability.ts";
import { createTypeRegistry } from "./registry.ts";

const empty = z.object({});

function callOf(type: string, responseType: string, aliases: Record<string, string> = {}) {
  return call(type, responseType, {
    about: { access: "write" },
    doc: "",
    request: empty,
    result: empty,
    aliases,
    example: { request: {}, result: {} },
  });
}

function pushOf(type: string, aliases: string[] = []) {
  return push(type, { doc: "", payload: empty, aliases, example: {} });
}

function table(name: string, spec: Partial<CapabilitySpec>) {
  return capability(name, { doc: "", calls: {}, ...spec });
}

describe("the type registry", () => {
  test("contains the core without being given it", () => {
    const registry = createTypeRegistry([]);
    expect(registry.get("handshake/req")).toMatchObject({
      kind: "request",
      responseType: "handshake/resp",
      name: "handshake",
    });
    expect(registry.get("pong")?.kind).toBe("response");
    expect(registry.get("invoke/event")?.kind).toBe("event");
    expect(registry.get("session/gap")?.kind).toBe("push");
    expect(registry.get("shutdown")?.kind).toBe("shutdown");
    expect(registry.get("error")?.kind).toBe("error");
    expect(registry.get("toString")).toBeUndefined();
  });

  test("answers an alias in the family it belongs to", () => {
    const registry = createTypeRegistry([
      table("a", {
        calls: { list: callOf("a/list/req", "a/list/resp", { "b/list": "b/list/resp", "a/list": "a/list/resp" }) },
      }),
    ]);
    expect(registry.get("b/list")).toMatchObject({ kind: "request", name: "list", responseType: "b/list/resp" });
    expect(registry.get("a/list")).toMatchObject({ kind: "request", name: "list", responseType: "a/list/resp" });
    expect(registry.get("b/list/resp")?.kind).toBe("response");
  });

  test("takes the tables of this package together, and each of them twice", () => {
    const all = Object.values(tables);
    expect(createTypeRegistry([core, ...all, ...all]).size).toBe(createTypeRegistry(all).size);
  });

  const request = table("first", { calls: { go: callOf("x/go/req", "x/go/resp", { "x/go": "x/go/resp" }) } });
  test.each([
    ["a request", { calls: { run: callOf("x/go/req", "y/resp") } }],
    ["a response", { calls: { run: callOf("y/req", "x/go/resp") } }],
    ["an alias", { calls: { run: callOf("y/req", "y/resp", { "x/go": "y/resp" }) } }],
    ["a request as a push", { pushes: { told: pushOf("x/go/req") } }],
    ["an alias as the alias of a push", { pushes: { told: pushOf("y/told", ["x/go"]) } }],
    ["a request as an event", { event: "x/go/req" }],
    ["a message of the core", { calls: { run: callOf("ping", "y/resp") } }],
    ["shutdown", { calls: { run: callOf("shutdown", "y/resp") } }],
    ["error", { event: "error" }],
    ["the core's events as a request", { calls: { run: callOf("invoke/event", "y/resp") } }],
  ] satisfies [string, Partial<CapabilitySpec>][])("refuses two tables that both claim %s", (_, spec) => {
    expect(() => createTypeRegistry([request, table("second", spec)])).toThrow(/is declared twice/);
  });

  test("rejects a push that is declared twice", () => {
    const first = table("first", { pushes: { a: pushOf("x/told") } });
    const second = table("second", { pushes: { b: pushOf("x/told") } });
    expect(() => createTypeRegistry([first, second])).toThrow('"x/told" is declared twice');
  });

  test("lets tables share a type of events, and push a type that another sends as an event", () => {
    const first = table("first", { event: "x/event" });
    const second = table("second", { event: "x/event" });
    const pushing = table("third", { pushes: { told: pushOf("x/event") } });
    expect(createTypeRegistry([first, second]).get("x/event")?.kind).toBe("event");
    expect(createTypeRegistry([first, pushing]).has("x/event")).toBe(true);
    expect(createTypeRegistry([pushing, first]).has("x/event")).toBe(true);
  });
});
