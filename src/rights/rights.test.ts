import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { explain } from "./explain.ts";
import type { Resources } from "./resources.ts";
import { compileRights, everything, Rights } from "./rights.ts";
import { builtInRoles, type Role, type RoleRules } from "./roles.ts";
import { callOf, tableCalls } from "./table-calls.suite.ts";

const rightsOf = (allow: string[], deny: string[] = []) => compileRights({ own: { allow, deny } }, ["own"]);
const isAllowed = (rights: Rights, type: string, resources: Resources = "every") =>
  rights.decide(callOf(type), resources).allowed;

const call = fc.constantFrom(...tableCalls);
const name = fc.constantFrom("read_file", "read_dir", "js_eval", "team-a", "a", "");
const resources: fc.Arbitrary<Resources> = fc.oneof(
  fc.constantFrom<Resources>("some", "every"),
  fc.array(name, { maxLength: 3 }),
);
const callPattern = fc.constantFrom(
  "*",
  "*:read",
  "tools/*",
  "tool/call",
  "memory:read",
  "memory/*:write",
  "env/*",
  "*/list",
);
const resourcePattern = fc
  .tuple(fc.constantFrom("tool", "ns", "env", "plan"), fc.constantFrom("*", "read_*", "js_eval", "team-?", "[ab]"))
  .map((parts) => parts.join(":"));
const pattern = fc.oneof(
  callPattern,
  resourcePattern,
  fc.tuple(callPattern, resourcePattern).map((parts) => parts.join(" ")),
);
const patterns = fc.array(pattern, { maxLength: 5 });
const role: fc.Arbitrary<Role> = fc.record({ name: fc.constantFrom("a", "b"), allow: patterns, deny: patterns });
const layer = fc.array(role, { maxLength: 3 });
const anyRights = fc
  .array(layer, { maxLength: 3 })
  .map((layers) => new Rights({ layers: layers.map((roles) => ({ roles })) }));

test("a layer for one kind of resource restricts calls about this kind, and lets all others pass", () => {
  const reader = { name: "caveat", allow: ["tool:read_*"], deny: [] };
  const rights = rightsOf(["*"]).and(new Rights({ layers: [{ kind: "tool", roles: [reader] }] }));
  expect(isAllowed(rights, "tool/call", ["read_file"])).toBe(true);
  expect(isAllowed(rights, "tool/call", ["js_eval"])).toBe(false);
  expect(isAllowed(rights, "tool/call", "every")).toBe(false);
  expect(isAllowed(rights, "memory/init", ["notes"])).toBe(true);
  expect(isAllowed(rights, "session/fork")).toBe(true);
  expect(explain(rights, callOf("memory/init"), ["notes"]).lines.at(-1)).toContain("only calls about a tool");
});

describe("rights decide", () => {
  test("nothing that is not listed", () => {
    expect(rightsOf([]).decide(callOf("tool/list"), "some")).toEqual({ allowed: false, rule: undefined });
    expect(isAllowed(compileRights({}, []), "memory/init", ["x"])).toBe(false);
  });

  test.each([
    ["*", "session/fork", "every", true],
    ["tools/*", "tool/call", ["js_eval"], true],
    ["tool/*", "tool/call", ["js_eval"], true],
    ["tools/*", "toolkit/list", "some", false],
    ["planning/plan/*", "planning/plan/create", "every", true],
    ["planning/plan/*", "planning/task/add", ["p"], false],
    ["planning/createPlan", "planning/plan/create", "every", true],
    ["chains/run", "chain", ["x"], true],
    ["core/*", "session/fork", "every", true],
    ["mcp/*", "tool/list", "some", false],
    ["memory:read", "memory/retrieve", "every", true],
    ["memory:read", "memory/store", "every", false],
    ["memory:read ns:team-*", "memory/init", ["team-a"], true],
    ["memory:read ns:team-*", "memory/init", ["own"], false],
    ["memory:read ns:team-*", "memory/store", ["team-a"], false],
    ["tool:read_*", "tool/call", ["read_file"], true],
    ["tool:read_*", "tool/call", ["read_file", "js_eval"], false],
    ["tool:read_*", "tool/call", "every", false],
    ["tool:*", "tool/call", "every", true],
    ["tool:read_*", "tool/list", "some", true],
    ["tools/call tool:read_*", "tool/list", "some", false],
    ["env:CartPole-v1", "env/step", "some", true],
    ["plan:p", "planning/plan/create", "every", false],
    ["ns:team notes", "memory/init", ["team notes"], true],
  ] as const)("that %j for %s about %j is %s", (allow, type, about, expected) => {
    expect(isAllowed(rightsOf([allow]), type, about)).toBe(expected);
  });

  test("against a name that is denied, and for a request that names none if any name is denied", () => {
    const rights = rightsOf(["*"], ["tool:js_eval"]);
    expect(rights.decide(callOf("tool/call"), ["js_eval"])).toEqual({
      allowed: false,
      rule: { role: "own", effect: "deny", pattern: "tool:js_eval" },
    });
    expect(isAllowed(rights, "tool/call", ["echo"])).toBe(true);
    expect(isAllowed(rights, "tool/call", "every")).toBe(false);
    expect(isAllowed(rights, "tool/list", "some")).toBe(true);
  });

  test("by the name in a request", () => {
    const rights = rightsOf(["proc:git", "skill:plan"]);
    const decide = (type: string, request: Record<string, unknown>) =>
      rights.decideRequest(callOf(type), request).allowed;
    expect(decide("proc/spawn", { cmd: ["git", "status"] })).toBe(true);
    expect(decide("proc/spawn", { cmd: ["/tmp/git"] })).toBe(false);
    expect(decide("proc/spawn", { cmd: "git" })).toBe(false);
    expect(decide("skill/call", { name: "plan@1.2" })).toBe(true);
    expect(decide("skill/call", { name: "other" })).toBe(false);
  });

  test("that a call without need of a right may always be made", () => {
    for (const type of ["handshake", "ping", "invoke/cancel"]) expect(isAllowed(rightsOf([], ["*"]), type)).toBe(true);
  });
});

describe("built-in roles", () => {
  test.each(tableCalls.map((entry) => [entry.call.type, entry] as const))("decide %s", (_, entry) => {
    const { access } = entry.call.about;
    for (const about of ["some", "every", ["x"]] as const) {
      expect(compileRights({}, ["operator"]).decide(entry, about).allowed).toBe(true);
      expect(compileRights({}, ["agent"]).decide(entry, about).allowed).toBe(true);
      expect(compileRights({}, ["observer"]).decide(entry, about).allowed).toBe(access !== "write");
      expect(everything.decide(entry, about)).toEqual({ allowed: true, rule: undefined });
    }
  });

  test("keep agents from the sessions of others", () => {
    const { capability, name, call: known } = callOf("ping");
    const watch = {
      capability,
      name,
      call: { ...known, type: "observe/sessions/req", about: { access: "read" } },
    } as const;
    expect(compileRights({}, ["agent"]).decide(watch, "every").rule?.pattern).toBe("observe/*");
    expect(compileRights({}, ["observer"]).decide(watch, "every").allowed).toBe(true);
  });

  test("are found by name, beside those of a config, and an unknown role throws", () => {
    expect(Object.keys(builtInRoles)).toEqual(["operator", "agent", "observer"]);
    expect(() => compileRights({}, ["operater"])).toThrow('there is no role "operater"');
    expect(() => compileRights({}, ["constructor"])).toThrow("there is no role");
  });
});

describe("for any rights", () => {
  test("an intersection allows exactly what both allow", () => {
    fc.assert(
      fc.property(anyRights, anyRights, call, resources, (one, other, entry, about) => {
        const both = one.decide(entry, about).allowed && other.decide(entry, about).allowed;
        expect(one.and(other).decide(entry, about).allowed).toBe(both);
        expect(other.and(one).decide(entry, about).allowed).toBe(both);
      }),
    );
  });

  test("the order of roles and patterns does not matter", () => {
    const reversed = ({ name, allow, deny }: Role): Role => ({
      name,
      allow: [...allow].reverse(),
      deny: [...deny].reverse(),
    });
    fc.assert(
      fc.property(layer, call, resources, (roles, entry, about) => {
        const [one, other] = [roles, [...roles].reverse().map(reversed)].map(
          (given) => new Rights({ layers: [{ roles: given }] }),
        );
        expect(one?.decide(entry, about).allowed).toBe(other?.decide(entry, about).allowed);
      }),
    );
  });

  test("another deny never allows more, and another role never lifts a deny", () => {
    fc.assert(
      fc.property(layer, role, call, resources, (roles, { deny, ...added }, entry, about) => {
        const before = new Rights({ layers: [{ roles }] }).decide(entry, about);
        const denied = new Rights({ layers: [{ roles: [...roles, { ...added, allow: [], deny }] }] }).decide(
          entry,
          about,
        );
        if (!before.allowed) expect(denied.allowed).toBe(false);
        const widened = new Rights({ layers: [{ roles: [...roles, { ...added, deny: [] }] }] }).decide(entry, about);
        if (before.allowed) expect(widened.allowed).toBe(true);
        if (before.rule?.effect === "deny") expect(widened.allowed).toBe(false);
      }),
    );
  });

  test("a call that may be about every resource may be about each, and one about any may be about some", () => {
    fc.assert(
      fc.property(anyRights, call, name, (rights, entry, one) => {
        const [every, named, some] = (["every", [one], "some"] as const).map(
          (about) => rights.decide(entry, about).allowed,
        );
        if (every) expect(named).toBe(true);
        if (named) expect(some).toBe(true);
      }),
    );
  });

  test("rights made from a copy of their data, and decisions asked for again, are the same", () => {
    fc.assert(
      fc.property(anyRights, call, resources, (rights, entry, about) => {
        const decision = rights.decide(entry, about);
        expect(rights.decide(entry, about)).toBe(decision);
        expect(new Rights(structuredClone(rights.data)).decide(entry, about)).toEqual(decision);
      }),
    );
  });

  test("as many names as a peer may send are decided, without keeping them all", () => {
    const rights = rightsOf(["tool:read_*"]);
    for (let index = 0; index < 5000; index++)
      expect(isAllowed(rights, "tool/call", [`read_${index}`, `${"x".repeat(300)}${index}`])).toBe(false);
    expect(isAllowed(rights, "tool/call", ["read_1"])).toBe(true);
  });
});

describe("a list", () => {
  const shown = (rules: Partial<RoleRules>, names = ["read_file", "js_eval"]) =>
    compileRights({ own: { allow: [], deny: [], ...rules } }, ["own"])
      .filter(
        callOf("tool/list"),
        names.map((tool) => ({ tool })),
        ({ tool }) => tool,
      )
      .map(({ tool }) => tool);

  test.each<[string, Partial<RoleRules>, string[]]>([
    ["everything that may be used", { allow: ["tools/*"] }, ["read_file", "js_eval"]],
    ["nothing that is denied", { allow: ["*"], deny: ["tool:js_eval"] }, ["read_file"]],
    ["nothing that may be listed but not called", { allow: ["tool/list", "tool/call tool:read_*"] }, ["read_file"]],
    ["everything to those who may only read", { allow: ["*:read"] }, ["read_file", "js_eval"]],
    ["nothing that may be called but not listed", { allow: ["tools/*"], deny: ["tool/list tool:js_*"] }, ["read_file"]],
  ])("shows %s", (_, rules, expected) => {
    expect(shown(rules)).toEqual(expected);
  });

  test("is not copied if nothing is left out", () => {
    const items = ["a"];
    expect(everything.filter(callOf("tool/list"), items, String)).toBe(items);
    expect(rightsOf(["*"]).filter(callOf("tool/list"), items, String)).toBe(items);
  });
});

test("a pattern that cannot be parsed is not ignored", () => {
  expect(() => rightsOf(["*"], ["tool js_eval"])).toThrow('role "own": deny "tool js_eval": expected calls such as');
});
