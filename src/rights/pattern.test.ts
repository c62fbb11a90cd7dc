import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWildcard } from "../protocol/wildcards/wildcard.ts";
import { knownCalls } from "./known-calls.generated.ts";
import { createNameMatcher, parsePattern } from "./pattern.ts";
import { findPatternProblem } from "./pattern-check.ts";
import { builtInRoles } from "./roles.ts";

describe("a pattern", () => {
  test.each(["", " ", "tools", "tool", "tool read", "tools/* read", "tool:", ":x", "a b", "T:x", "ns:read notes"])(
    "%j is rejected with the forms that exist",
    (text) => {
      expect(parsePattern(text).problem).toContain("expected calls such as");
    },
  );

  test("is rejected if it is too long to be one", () => {
    expect(parsePattern(`tool:${"*a".repeat(500)}`).problem).toBe("expected a pattern of at most 512 characters");
  });

  test("is parsed or rejected without an exception, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("a", "*", ":", "/", " ", "read", "?", "[") })),
        (text) => {
          const { pattern, problem } = parsePattern(text);
          expect((pattern === undefined) !== (problem === undefined)).toBe(true);
          if (pattern !== undefined) findPatternProblem(pattern, { calls: knownCalls, further: [] });
        },
      ),
    );
  });

  test("of names matches as the wildcard does, in each of its quick forms", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "[", "]", "\\"), maxLength: 8 });
    fc.assert(
      fc.property(text, text, (pattern, name) => {
        const expected = createWildcard(pattern, { questionMark: true, sets: true })(name);
        expect(createNameMatcher(pattern)(name)).toBe(expected);
      }),
    );
  });
});

describe("a pattern that no call can match", () => {
  const problemOf = (text: string, further: string[] = []) => {
    const { pattern } = parsePattern(text);
    return pattern === undefined ? undefined : findPatternProblem(pattern, { calls: knownCalls, further });
  };

  test.each([
    ["tols/*", 'no call matches "tols/*"', "tols", "tools"],
    ["tool/cal", 'no call matches "tool/cal"', "tool/cal", "tool/call"],
    ["memry:read", 'no capability is called "memry"', "memry", "memory"],
    ["tol:read_*", 'no call is about a resource of the kind "tol"', "tol", "tool"],
    ["memory/* nss:x", 'no call is about a resource of the kind "nss"', "nss", "ns"],
    ["mcp/call_tool", 'no call matches "mcp/call_tool"', "mcp/call_tool", "mcp/readResource"],
  ])("%j has a message, and candidates for the word that is wrong", (text, message, word, candidate) => {
    const problem = problemOf(text);
    expect(problem).toMatchObject({ message, word });
    expect(problem?.candidates).toContain(candidate);
  });

  test("is reported if its calls are about another kind, or have another access", () => {
    expect(problemOf("memory/* tool:x")?.message).toBe('no call that matches "memory/*" is about a "tool"');
    expect(problemOf("tool/list:write")?.message).toBe('no call that matches "tool/list" writes');
  });

  test("is reported if it can be read as an access and as a name", () => {
    expect(problemOf("proc:write")?.message).toBe(
      'can be read in two ways: write "proc/*:write" for the calls that write, or "* proc:write" for proc:write',
    );
    expect(problemOf("ns:read")?.message).toBe('can be read in two ways: write "* ns:read" for ns:read');
    expect(problemOf("proc/*:write")).toBeUndefined();
    expect(problemOf("* proc:write")).toBeUndefined();
  });

  test("may belong to a capability whose calls are not known yet", () => {
    expect(problemOf("counter/*", ["counter"])).toBeUndefined();
    expect(problemOf("counter:read", ["counter"])).toBeUndefined();
    expect(problemOf("tally:main", ["counter"])).toBeUndefined();
    expect(problemOf("conter/*", ["counter"])?.word).toBe("conter");
  });

  test.each(Object.entries(builtInRoles))(
    "is not in the built-in role %s, except for operators' capabilities",
    (_, { allow, deny }) => {
      for (const text of [...allow, ...deny]) expect(problemOf(text, ["observe", "operate"])).toBeUndefined();
    },
  );
});
