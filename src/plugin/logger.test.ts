import { expect, test } from "vitest";
import { createLogger } from "./logger.ts";

function logged(fields: Record<string, unknown>): string {
  const lines: string[] = [];
  createLogger((line) => lines.push(line)).error("it happened", fields);
  expect(lines).toHaveLength(1);
  return lines[0] as string;
}

test("an entry is one line with time, level, text and fields", () => {
  const lines: string[] = [];
  const log = createLogger((line) => lines.push(line));
  log.info("started", { port: 8765, host: "127.0.0.1" });
  log.warn("odd");
  log.error("bad", { why: "two words" });
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z /;
  for (const line of lines) expect(line).toMatch(time);
  expect(lines.map((line) => line.replace(time, ""))).toEqual([
    "info started port=8765 host=127.0.0.1\n",
    "warn odd\n",
    'error bad why="two words"\n',
  ]);
});

test("text with line breaks stays on its line, so nobody forges an entry", () => {
  const line = logged({ text: "a\n2026-01-01T00:00:00Z info all is well", error: new Error("first\nsecond") });
  expect(line.trimEnd()).not.toContain("\n");
  expect(line).toContain("second");
});

test.each([
  [
    "a cycle",
    () => {
      const cyclic: Record<string, unknown> = {};
      cyclic.self = cyclic;
      return cyclic;
    },
  ],
  ["a BigInt", () => 12n],
  ["a symbol", () => Symbol("s")],
  ["a function", () => () => {}],
  ["undefined", () => undefined],
  ["null", () => null],
  [
    "a toJSON that throws",
    () => ({
      toJSON() {
        throw new Error("no");
      },
    }),
  ],
  ["an error without a stack", () => Object.assign(new Error("plain"), { stack: undefined })],
  [
    "an error whose stack throws",
    () =>
      Object.defineProperty(new Error("x"), "stack", {
        get() {
          throw new Error("no");
        },
      }),
  ],
  ["an object without a prototype", () => Object.create(null)],
  [
    "a revoked proxy",
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
  ],
])("%s can be logged", (_, make) => {
  expect(logged({ value: make(), after: "here" })).toContain(" after=here\n");
});
