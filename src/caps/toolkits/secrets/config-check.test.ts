import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../../protocol/json.ts";
import { defineToolkit } from "../define-toolkit.ts";
import { toolkitLimits } from "../limits.ts";
import { checkConfig } from "./config-check.ts";

const secret = "hunter2-and-more";
const tools = { noop: { description: "", input: { type: "object" }, run: () => null } } as const;
const password = z.string().meta({ format: "password" });

function check(shape: z.ZodRawShape, config: JsonObject) {
  return checkConfig(defineToolkit({ name: "kit", description: "", config: z.object(shape), tools }), config);
}

test("a valid config is returned with its defaults and without its secrets", () => {
  expect(check({ key: password, size: z.int().default(3) }, { key: secret })).toEqual({
    shown: { size: 3 },
    secrets: [[["key"], secret]],
  });
});

test.each([
  ["in the wrong shape", { auth: z.object({ key: password }) }, { auth: secret }],
  ["in the wrong place", { key: password.optional(), size: z.int() }, { size: secret }],
  ["in a list of texts", { tags: z.array(z.int()), key: password.optional() }, { tags: [secret] }],
  [
    "in words of the schema",
    { key: password.refine(() => false, { error: ({ input }) => `not ${input}` }) },
    { key: secret },
  ],
])("a secret %s is not repeated in the problem", (_how, shape, config) => {
  const checked = check(shape as z.ZodRawShape, config as JsonObject);
  expect(checked).toMatchObject({ problems: [{ message: expect.any(String) }] });
  expect(JSON.stringify(checked)).not.toContain("hunter2");
});

test("a secret in an error that a schema throws is removed before it is logged", () => {
  const broken = password.transform((key) => {
    throw new Error(`cannot read ${key}`);
  });
  const error = (() => {
    try {
      return check({ key: broken }, { key: secret });
    } catch (thrown) {
      return thrown as Error;
    }
  })();
  expect(error).toMatchObject({ message: "cannot read [secret]" });
  expect((error as Error).stack).not.toContain("hunter2");
});

test("more secrets than the limit are rejected", () => {
  const keys = Object.fromEntries(
    Array.from({ length: toolkitLimits.maxSecrets + 1 }, (_, index) => [`k${index}`, "x"]),
  );
  const shape = { keys: z.record(z.string(), z.string()).meta({ "x-secret": true }) };
  expect(check(shape, { keys })).toMatchObject({ problems: [{ message: "257 secrets exceed the limit of 256" }] });
  const { k0: _one, ...fewer } = keys;
  expect(check(shape, { keys: fewer })).toMatchObject({ shown: {} });
});
