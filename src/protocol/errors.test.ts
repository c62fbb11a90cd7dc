import { describe, expect, test } from "vitest";
import { A2EError, type CoreErrorCode, coreErrors, fail } from "./errors.ts";

describe("A2EError", () => {
  test.each(Object.entries(coreErrors))("%s is as retryable as its table says", (code, { retryable }) => {
    expect(new A2EError(code as CoreErrorCode, "").retryable).toBe(retryable);
  });

  test("a code of nobody is not retryable, whatever every object inherits", () => {
    for (const code of ["made_up", "toString", "constructor", "__proto__", ""])
      expect(new A2EError(code, "").retryable).toBe(false);
  });

  test("whoever throws it may say otherwise", () => {
    expect(new A2EError("timeout", "", { retryable: false }).retryable).toBe(false);
    expect(new A2EError("forbidden", "", { retryable: true }).retryable).toBe(true);
  });

  test("carries what the peer needs, and the cause for the log alone", () => {
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

test("fail throws what it is given", () => {
  const error = new A2EError("forbidden", "no");
  expect(() => new Map<string, string>().get("missing") ?? fail(error)).toThrow(error);
});
