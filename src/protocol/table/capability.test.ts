import { describe, expect, test } from "vitest";
import * as z from "zod";
import { tables } from "../../caps/tables.generated.ts";
import { core } from "../core.ts";
import { A2EError } from "../errors.ts";
import { type Capability, call, capability, coreEventType, push } from "./capability.ts";

const shelf = capability("shelf", {
  doc: "Keeps books.",
  errors: {
    shelf_full: { retryable: true, doc: "No room." },
    timeout: { retryable: false, doc: "Its own idea of a timeout." },
  },
  calls: {
    put: call("shelf/put/req", "shelf/put/resp", {
      about: { access: "write" },
      doc: "Puts a book.",
      request: z.object({ title: z.string(), copies: z.int().default(1) }),
      result: z.object({ total: z.int() }),
      example: { request: { title: "Emma" }, result: { total: 1 } },
    }),
  },
});

describe("a capability", () => {
  test("has defaults for everything that was left out", () => {
    expect(shelf.event).toBe(coreEventType);
    expect(shelf.pushes).toEqual({});
    expect(shelf.calls.put).toMatchObject({ aliases: {}, mirrors: {}, isControl: false });
    expect(push("shelf/changed", { doc: "", payload: z.object({}), example: {} }).aliases).toEqual([]);
  });

  test("makes errors of its own codes and of the core's, with its name and their retryable flag", () => {
    expect(shelf.error("shelf_full", "no room")).toMatchObject({
      code: "shelf_full",
      retryable: true,
      capability_name: "shelf",
    });
    expect(shelf.error("rate_limited", "slower")).toMatchObject({ retryable: true, capability_name: "shelf" });
    expect(shelf.error("timeout", "late").retryable).toBe(false);
    expect(shelf.error("shelf_full", "", { retryable: false, detail: { room: 0 } })).toMatchObject({
      retryable: false,
      detail: { room: 0 },
    });
  });

  test("parses requests and results by its table", () => {
    expect(shelf.calls.put.parseRequest({ title: "Emma", type: "shelf/put/req" })).toEqual({
      title: "Emma",
      copies: 1,
    });
    expect(shelf.calls.put.parseResult({ total: 1.5 }, "shelf")).toBeInstanceOf(A2EError);
  });
});

describe.each<[string, Capability]>([["core", core], ...Object.entries(tables)])("the table of %s", (_, table) => {
  test("has examples that fit its own schemas", () => {
    for (const { request, result, example, type } of Object.values(table.calls)) {
      expect(request.safeParse(example.request).error, type).toBeUndefined();
      expect(result.safeParse(example.result).error, type).toBeUndefined();
    }
    for (const { payload, example, type } of Object.values(table.pushes))
      expect(payload.safeParse(example).error, type).toBeUndefined();
  });

  test("names no field that the envelope has already", () => {
    for (const { request, result, type } of Object.values(table.calls)) {
      for (const field of ["type", "id", "a2e", "version", "ts", "req_id"])
        expect([field in request.shape, field in result.shape], `${field} in ${type}`).toEqual([false, false]);
    }
  });

  test("has a description for each call and error", () => {
    for (const { doc } of [table, ...Object.values(table.calls), ...Object.values(table.errors)])
      expect(doc).not.toBe("");
  });
});
