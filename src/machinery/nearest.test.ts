import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const tools = ["read_file", "write_file", "list_dir", "glob", "grep", "http_get"];

describe("nearest", () => {
  test.each([
    ["raed_file", "read_file"],
    ["readfile", "read_file"],
    ["readFile", "read_file"],
    ["READ-FILE", "read_file"],
    ["wirte_file", "write_file"],
    ["list_dirs", "list_dir"],
    ["gerp", "grep"],
    ["glb", "glob"],
  ])("%s means %s", (word, meant) => {
    expect(nearest(word, tools)).toBe(meant);
  });

  test("words that share little are not suggested", () => {
    expect(nearest("browser", tools)).toBeUndefined();
    expect(nearest("", tools)).toBeUndefined();
    expect(nearest("ls", tools)).toBeUndefined();
    expect(nearest("x", [])).toBeUndefined();
  });

  test("the nearest wins, and among equals the first", () => {
    expect(nearest("hosts", ["ports", "host"])).toBe("host");
    expect(nearest("cat", ["bat", "car"])).toBe("bat");
  });

  test("a very long word is not compared and gets no suggestion", () => {
    expect(nearest("a".repeat(1_000_000), ["a".repeat(64)])).toBeUndefined();
  });

  test("a known word is its own nearest, among any other words", () => {
    const word = fc.stringMatching(/^[a-z]{1,20}$/);
    fc.assert(
      fc.property(word, fc.array(word), (known, others) => {
        expect(nearest(known, [...others, known])).toBe(known);
      }),
    );
  });
});
