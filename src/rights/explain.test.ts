import { expect, test } from "vitest";
import { explain, renderRule } from "./explain.ts";
import type { Resources } from "./resources.ts";
import { compileRights, everything } from "./rights.ts";
import { callOf, tableCalls } from "./table-calls.suite.ts";

const roles = {
  reader: { allow: ["*:read", "tool:read_*", "tools/call tool:list_*"], deny: ["ns:secret-*"] },
  writer: { allow: ["memory/*"], deny: [] },
};
const lines = (names: string[], type: string, about: Resources) =>
  explain(compileRights(roles, names), callOf(type), about).lines;

test("an allowed call is explained by the role and the pattern that allows it", () => {
  expect(lines(["reader"], "tool/call", ["read_file"])).toEqual([
    "allowed: tool/call writes tool:read_file",
    'role "reader" allows it with "tool:read_*"',
  ]);
});

test("a denied call is explained by the deny, even if another role allows it", () => {
  expect(lines(["writer", "reader"], "memory/init", ["secret-plans"])).toEqual([
    "refused: memory/init reads ns:secret-plans",
    'role "reader" denies it with "ns:secret-*"',
  ]);
});

test("a call that nothing allows is explained by the patterns that nearly do", () => {
  expect(lines(["reader"], "tool/call", ["js_eval"])).toEqual([
    "refused: tool/call writes tool:js_eval",
    'no pattern of role "reader" allows it',
    'allow "*:read" is for calls that read',
    'allow "tool:read_*" is for other names',
    'allow "tools/call tool:list_*" is for other names',
  ]);
  expect(lines(["reader"], "tool/call", "every")).toContain(
    'allow "tool:read_*" does not cover every tool, and the request names none',
  );
});

test("rights of several layers name the layer that refuses", () => {
  const narrowed = compileRights(roles, ["writer"]).and(compileRights(roles, ["reader"]));
  expect(explain(narrowed, callOf("memory/store"), ["notes"]).lines.slice(0, 2)).toEqual([
    "refused: memory/store writes ns:notes",
    'layer 2 of 2: no pattern of role "reader" allows it',
  ]);
});

test("calls without need of a right, and rights without restriction, are explained as such", () => {
  expect(lines([], "ping", "every")).toEqual(["allowed: ping", "the call needs no right"]);
  expect(explain(everything, callOf("session/fork"), "every").lines[1]).toBe("these rights have no restriction");
});

test("an explanation agrees with the decision, for every call", () => {
  for (const entry of tableCalls)
    for (const names of [["reader"], ["writer"], ["reader", "observer"], []])
      for (const about of ["some", "every", ["read_x"], ["secret-x"]] as const) {
        const rights = compileRights(roles, names);
        expect(explain(rights, entry, about).allowed).toBe(rights.decide(entry, about).allowed);
      }
});

test("a rule has a short form for the audit log", () => {
  expect(renderRule({ role: "agent", effect: "deny", pattern: "operate/*" })).toBe("role agent: deny operate/*");
  expect(renderRule(undefined)).toBe("no role allows it");
});
