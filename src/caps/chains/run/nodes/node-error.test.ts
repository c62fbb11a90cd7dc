import { expect, test } from "vitest";
import { A2EError } from "../../../../protocol/errors.ts";
import { chainLimits } from "../../limits.ts";
import { preview, toNodeError } from "./node-error.ts";

test("an error keeps its code and its detail, up to their limits", () => {
  const small = new A2EError("runtime_error", "broken", { detail: { exit_code: 3 } });
  const large = new A2EError("runtime_error", "x".repeat(1e6), { detail: { text: "x".repeat(1e6) } });

  expect(toNodeError(small)).toEqual({ code: "runtime_error", message: "broken", detail: { exit_code: 3 } });
  expect(toNodeError(large)).toEqual({
    code: "runtime_error",
    message: "x".repeat(chainLimits.maxErrorLength),
    detail: {},
  });
});

test("a preview shows the beginning of a value, and does not serialise a large value", () => {
  let nested: unknown[] = [];
  for (let depth = 0; depth < 100; depth++) nested = [nested, nested];

  expect([preview(5), preview({ a: "b" }), preview("x".repeat(1e6))]).toEqual(["5", '{"a":"b"}', "a long text"]);
  expect(preview(nested as never)).toBe("a large value");
});
