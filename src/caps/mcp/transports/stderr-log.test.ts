import { expect, test } from "vitest";
import { mcpLimits } from "../limits.ts";
import { StderrLog } from "./stderr-log.ts";

const secret = "sk-0123456789abcdef";

function createLog() {
  const reported: string[] = [];
  const log = new StderrLog({
    redact: (text) => text.replaceAll(secret, "***"),
    report: (line) => reported.push(line),
    now: () => 0,
  });
  return { log, reported };
}

test("no part of a secret is shown if the line is cut in the middle of it", () => {
  const { log, reported } = createLog();
  const line = `${"x".repeat(mcpLimits.maxStderrLineLength - 8)}${secret} and more`;

  log.write(Buffer.from(`${line}\n`));
  log.write(Buffer.from(line.slice(0, -12)));
  log.write(Buffer.from(`${line.slice(-12)}\n`));

  expect(log.lines).toHaveLength(2);
  for (const shown of [...log.lines, ...reported]) {
    expect(shown).not.toContain("sk-");
    expect(shown.length).toBeLessThanOrEqual(mcpLimits.maxStderrLineLength);
  }
});

test("a character that arrives in two chunks is decoded", () => {
  const { log } = createLog();
  const bytes = Buffer.from("häuser\n");

  log.write(bytes.subarray(0, 2));
  log.write(bytes.subarray(2));

  expect(log.lines).toEqual(["häuser"]);
});

test("a line without an end is not kept forever", () => {
  const { log } = createLog();

  for (let at = 0; at < 1000; at++) log.write(Buffer.alloc(10_000, "x"));
  log.write(Buffer.from("\nnext\n"));

  expect(log.lines).toEqual(["x".repeat(mcpLimits.maxStderrLineLength), "next"]);
});

test("the last lines of stderr are kept, each cut, and logging is limited per second", () => {
  const reported: string[] = [];
  let now = 0;
  const log = new StderrLog({
    redact: (text) => text.replaceAll("secret", "***"),
    report: (line) => reported.push(line),
    now: () => now,
  });

  log.write(Buffer.from(Array.from({ length: 500 }, (_, at) => `line ${at} secret\n`).join("")));
  log.write(Buffer.from(`${"x".repeat(5000)}`));
  now = 1000;
  log.write(Buffer.from("\nnext\n"));

  expect(log.lines).toHaveLength(50);
  expect(log.lines.at(-1)).toBe("next");
  expect(log.lines.at(-2)).toHaveLength(500);
  expect(log.lines[0]).toBe("line 452 ***");
  expect(reported).toHaveLength(22);
});
