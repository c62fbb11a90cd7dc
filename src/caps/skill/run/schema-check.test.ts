import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../../protocol/json.ts";
import { SchemaChecks } from "./schema-check.ts";

const trap: JsonObject = { properties: { a: { pattern: "^(a+)+$" } } };
const endless = { a: `${"a".repeat(40)}!` };

function createChecks(options?: { checkMs: number }): SchemaChecks {
  const checks = new SchemaChecks(options);
  onTestFinished(() => checks.close());
  return checks;
}

function callOf(id: string, signal = new AbortController().signal) {
  return { signal, session: { id } };
}

test("the time limit of a check does not include the start of its thread", async () => {
  const checks = createChecks();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const starting = once(process, "worker");
  const checked = checks.check("csv", trap, { a: "aaa" }, callOf("ada"));
  await starting;
  // The thread takes an hour to load the validator.
  vi.advanceTimersByTime(3_600_000);

  expect(await checked).toEqual({ value: { a: "aaa" } });
});

test("a check that times out may be retried", async () => {
  const checks = createChecks({ checkMs: 200 });

  await expect(checks.check("csv", trap, endless, callOf("ada"))).rejects.toMatchObject({
    code: "skill_error",
    retryable: true,
    message: expect.stringContaining('the schema of the skill "csv" was not checked within 0.2 s'),
  });
});

test("slow checks of one session do not hold up those of another", async () => {
  const checks = createChecks({ checkMs: 60_000 });
  const controller = new AbortController();
  const slow = [1, 2, 3].map(() =>
    checks.check("trap", trap, endless, callOf("ada", controller.signal)).catch(() => 0),
  );

  expect(await checks.check("csv", trap, { a: "aaa" }, callOf("bob"))).toEqual({ value: { a: "aaa" } });

  controller.abort(new Error("enough"));
  await Promise.all(slow);
});
