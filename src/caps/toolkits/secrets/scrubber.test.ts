import { expect, test } from "vitest";
import type { CallContext } from "../../../plugin/call-context.ts";
import { silentLogger } from "../../../plugin/logger.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { toolkitLimits } from "../limits.ts";
import { createScrubber } from "./scrubber.ts";

const secret = 'pa"ss/wörd+1';
const base64 = Buffer.from(secret).toString("base64");

test.each([
  ["as it is", secret],
  ["in a URL", encodeURIComponent(secret)],
  ["in JSON", JSON.stringify(secret).slice(1, -1)],
  ["in base64", base64],
  ["in base64 for URLs", base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")],
])("a secret is found %s", (_how, form) => {
  expect(createScrubber([secret])?.text(`<${form}>`)).toMatch(/^<\[secret\]=*>$/);
});

test.each([
  ["", ""],
  ["a:", ""],
  ["ab:", "\n"],
  ["abc:", ":more"],
])("a secret is found in base64 between %j and %j, as in HTTP Basic authentication", (before, after) => {
  for (const encoding of ["base64", "base64url"] as const) {
    const cleaned = createScrubber([secret])?.text(Buffer.from(before + secret + after).toString(encoding)) ?? "";
    expect(cleaned).toContain("[secret]");
    // In the rest, a character at each end may also encode bits of the secret.
    const left = cleaned.replace("[secret]", "").replace(/=+$/, "");
    expect(left.length).toBeLessThanOrEqual(Math.ceil(((before + after).length * 4) / 3) + 2);
  }
});

test("a secret is found in form encoding and in the URL encodings of other libraries", () => {
  const odd = "it's (my) key/~!*";
  const scrubber = createScrubber([odd]);
  expect(scrubber?.text(new URLSearchParams({ key: odd }).toString())).toBe("key=[secret]");
  expect(scrubber?.text(encodeURIComponent(odd).replaceAll("%2F", "%2f"))).toBe("[secret]");
});

test("the part after the scheme of a header is a secret as well", () => {
  const scrubber = createScrubber(["Bearer t0ken-value"]);
  expect(scrubber?.text("Bearer t0ken-value, or t0ken-value alone")).toBe("[secret], or [secret] alone");
  expect(scrubber?.text("Bearer of news")).toBe("Bearer of news");
});

test("secrets that are too short to be distinguished from other words are not searched for", () => {
  const short = "x".repeat(toolkitLimits.minScrubbedLength - 1);
  expect(createScrubber([short, "", "Token abc"])?.text("abc")).toBe("abc");
  expect(createScrubber([short])).toBeUndefined();
  expect(createScrubber([`${short}x`])?.text(`${short}x`)).toBe("[secret]");
});

test("values have the form that JSON gives them, with keys and numbers scrubbed", () => {
  const scrubber = createScrubber(["t0ken-value", "12345678"]);
  const at = new Date(0);
  expect(
    scrubber?.value({ "t0ken-value": [12_345_678, 12_345_679, null, true], at, deep: { text: "a t0ken-value" } }),
  ).toEqual({ "[secret]": ["[secret]", 12_345_679, null, true], at: at.toJSON(), deep: { text: "a [secret]" } });
});

test("an error keeps its code and loses everything that contains the secret", () => {
  const scrubber = createScrubber(["t0ken-value"]);
  const thrown = new A2EError("forbidden", "no t0ken-value", { detail: { a: "t0ken-value" }, cause: "t0ken-value" });
  const error = scrubber?.error(thrown) as A2EError;
  expect(error).toMatchObject({ code: "forbidden", message: "no [secret]", detail: { a: "[secret]" } });
  expect(error.cause).toBeUndefined();
});

test("events and log lines of a call are scrubbed, and the rest of its context stays as it is", () => {
  const said: unknown[] = [];
  const context = {
    id: "call-1",
    log: { ...silentLogger, warn: (message: string, fields?: object) => void said.push([message, fields]) },
    emit: (kind: string, data: object) => void said.push([kind, data]),
  } as unknown as CallContext;
  const cleaned = createScrubber(["t0ken-value"])?.context(context);
  cleaned?.emit("t0ken-value", { token: "t0ken-value" });
  cleaned?.log.warn("with t0ken-value", { error: new Error("t0ken-value") });
  expect(said).toEqual([
    ["[secret]", { token: "[secret]" }],
    ["with [secret]", { error: new Error("[secret]") }],
  ]);
  expect(cleaned?.id).toBe("call-1");
});
