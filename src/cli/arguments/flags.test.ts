import { expect, test } from "vitest";
import { parseFlags } from "./flags.ts";

function parse(...words: string[]) {
  const stray: string[] = [];
  const flags = parseFlags(words, (word) => stray.push(word)).map(({ name, value }) => [name, value]);
  return { flags, stray };
}

test("a flag takes the next word, the text behind its equals sign, or no value", () => {
  expect(parse("--path", "a b", "--glob=*.ts", "--all", "--deep").flags).toEqual([
    ["path", "a b"],
    ["glob", "*.ts"],
    ["all", undefined],
    ["deep", undefined],
  ]);
});

test("a negative number and a lone dash are values, another flag is not", () => {
  expect(parse("--offset", "-3", "--share", "-.5", "--file", "-", "--all", "--deep").flags).toEqual([
    ["offset", "-3"],
    ["share", "-.5"],
    ["file", "-"],
    ["all", undefined],
    ["deep", undefined],
  ]);
});

test("an equals sign joins any value, even an empty one or one that looks like a flag", () => {
  expect(parse("--text=--x=y", "--empty=", "--lines=a\nb").flags).toEqual([
    ["text", "--x=y"],
    ["empty", ""],
    ["lines", "a\nb"],
  ]);
});

test("a word that belongs to no flag is reported", () => {
  expect(parse("lonely", "--path", "x", "other", "--", "---").stray).toEqual(["lonely", "other", "--", "---"]);
});
