import { describe, expect, test } from "vitest";
import { A2EError, type CoreErrorCode, coreErrors, fail, fromErrorJson, toErrorJson } from "./errors.ts";

describe("A2EError", () => {
  test.each(Object.entries(coreErrors))("%s is as retryable as its table says", (code, { retryable }) => {
    expect(new A2EError(code as CoreErrorCode, "").retryable).toBe(retryable);
  });

  test("an unknown code is not retryable, even if it is the name of an inherited property", () => {
    for (const code of ["made_up", "toString", "constructor", "__proto__", ""])
      expect(new A2EError(code, "").retryable).toBe(false);
  });

  test("the thrower may override whether an error is retryable", () => {
    expect(new A2EError("timeout", "", { retryable: false }).retryable).toBe(false);
    expect(new A2EError("forbidden", "", { retryable: true }).retryable).toBe(true);
  });

  test("carries the fields for the peer, and the cause for the log only", () => {
    const cause = new Error("disk");
    const error = new A2EError("runtime_error", "could not save", {
      detail: { retry_after_ms: 5 },
      capability_name: "memory",
      cause,
    });
    expect(error).toMatchObject({
      name: "A2EError",
      message: "could not save",
      detail: { retry_after_ms: 5 },
      capability_name: "memory",
    });
    expect(error.cause).toBe(cause);
    expect(JSON.stringify(error)).not.toContain("disk");
  });

  test("has no cause, detail or capability unless given", () => {
    const error = new A2EError("timeout", "late");
    expect("cause" in error).toBe(false);
    expect(error.detail).toEqual({});
    expect(error.capability_name).toBe("");
  });
});

test("fail throws the error it is given", () => {
  const error = new A2EError("forbidden", "no");
  expect(() => new Map<string, string>().get("missing") ?? fail(error)).toThrow(error);
});

describe("an error as JSON", () => {
  const roundTrip = (thrown: unknown) => fromErrorJson(JSON.parse(JSON.stringify(toErrorJson(thrown))));

  test("is an equal A2EError again elsewhere", () => {
    const options = { detail: { retry_after_ms: 5 }, retryable: true, capability_name: "memory" };
    const error = roundTrip(new A2EError("memory_full", "no room", options));
    expect(error).toBeInstanceOf(A2EError);
    expect(error).toMatchObject({ code: "memory_full", message: "no room", ...options });
  });

  test("keeps the code of an error of Node, which does not become an A2EError by it", () => {
    const error = roundTrip(Object.assign(new Error("no such file"), { code: "ENOENT" }));
    expect(error).not.toBeInstanceOf(A2EError);
    expect(error).toMatchObject({ message: "no such file", code: "ENOENT" });
    expect(roundTrip(new Error("plain"))).not.toHaveProperty("code");
  });

  test("is created from any thrown value, without throwing", () => {
    const unreadable = {
      toString() {
        throw new Error("no");
      },
    };
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(toErrorJson("a text")).toEqual({ message: "a text" });
    expect(toErrorJson(undefined)).toEqual({ message: "undefined" });
    for (const thrown of [unreadable, new A2EError("timeout", "", { detail: circular as never })])
      expect(toErrorJson(thrown).message).toContain("no JSON form");
  });
});
