// The JMESPath functions for text.
import type { Work } from "../work.ts";
import type { QueryFunction } from "./query-function.ts";

export const textFunctions: Record<string, QueryFunction> = {
  lower: { takes: [["string"]], run: ([text]: [string], work) => made(text.length, work, () => text.toLowerCase()) },
  upper: { takes: [["string"]], run: ([text]: [string], work) => made(text.length, work, () => text.toUpperCase()) },
  starts_with: {
    takes: [["string"], ["string"]],
    run: ([text, start]: [string, string]) => text.startsWith(start),
  },
  ends_with: { takes: [["string"], ["string"]], run: ([text, end]: [string, string]) => text.endsWith(end) },
  join: {
    takes: [["string"], ["strings"]],
    run([between, texts]: [string, string[]], work) {
      const length = texts.reduce((sum, text) => sum + text.length + between.length, 0);
      return made(length, work, () => texts.join(between));
    },
  },
  split: {
    takes: [["string"], ["string"], ["number"]],
    optional: 1,
    run([text, by, count]: [string, string, number?], work) {
      if (text === "" && by === "") return [];
      const times = toCount("split", count);
      work.spend(text.length);
      const parts = text.split(by);
      return parts.length - 1 <= times ? parts : [...parts.slice(0, times), parts.slice(times).join(by)];
    },
  },
  replace: {
    takes: [["string"], ["string"], ["string"], ["number"]],
    optional: 1,
    run([text, old, by, count]: [string, string, string, number?], work) {
      const times = toCount("replace", count);
      work.spend(text.length);
      const parts = text.split(old);
      const replaced = Math.min(times, parts.length - 1);
      const before = parts.slice(0, replaced + 1);
      return made(text.length + replaced * by.length, work, () =>
        [before.join(by), ...parts.slice(replaced + 1)].join(old),
      );
    },
  },
  find_first: {
    takes: [["string"], ["string"], ["number"], ["number"]],
    optional: 2,
    run: (args: SearchArguments, work) => find(args, work, (text, sought) => text.indexOf(sought)),
  },
  find_last: {
    takes: [["string"], ["string"], ["number"], ["number"]],
    optional: 2,
    run: (args: SearchArguments, work) => find(args, work, (text, sought) => text.lastIndexOf(sought)),
  },
  pad_left: padding("pad_left", (text, space) => space + text),
  pad_right: padding("pad_right", (text, space) => text + space),
  trim: trimming(true, true),
  trim_left: trimming(true, false),
  trim_right: trimming(false, true),
};

type SearchArguments = [text: string, sought: string, start?: number, end?: number];

/** Spends steps for a text of this length, then creates it. */
function made(length: number, work: Work, make: () => string): string {
  work.spendText(length);
  return make();
}

function toCount(name: string, count: number | undefined): number {
  if (count === undefined) return Number.POSITIVE_INFINITY;
  if (Number.isInteger(count) && count >= 0) return count;
  throw new Error(`${name}() takes a whole number of times, 0 or more`);
}

function find(
  [text, sought, start = 0, end = text.length]: SearchArguments,
  work: Work,
  search: (text: string, sought: string) => number,
): number | null {
  if (!Number.isInteger(start) || !Number.isInteger(end))
    throw new Error("find_first() and find_last() take whole numbers as start and end");
  if (text === "" || sought === "") return null;
  const from = Math.max(0, start);
  work.spendText(text.length);
  const found = search(text.slice(from, Math.max(0, end)), sought);
  return found === -1 ? null : found + from;
}

function padding(name: string, put: (text: string, space: string) => string): QueryFunction {
  return {
    takes: [["string"], ["number"], ["string"]],
    optional: 1,
    run([text, width, given = " "]: [string, number, string?], work) {
      if (!Number.isInteger(width) || width < 0) throw new Error(`${name}() takes a whole number as width, 0 or more`);
      if ([...given.slice(0, 4)].length !== 1) throw new Error(`${name}() pads with one character`);
      work.spendText(text.length + width);
      return put(text, given.repeat(Math.max(0, width - [...text].length)));
    },
  };
}

/** Without a regular expression: a pattern for the end of a text restarts at each blank, which takes quadratic time. */
function trimming(isLeft: boolean, isRight: boolean): QueryFunction {
  return {
    takes: [["string"], ["string"]],
    optional: 1,
    run([text, given = ""]: [string, string?], work) {
      const isCut = given === "" ? isBlank : (character: string) => given.includes(character);
      const characters = [...text];
      work.spend(characters.length);
      let [start, end] = [0, characters.length];
      while (isLeft && start < end && isCut(characters[start] as string)) start++;
      while (isRight && end > start && isCut(characters[end - 1] as string)) end--;
      return characters.slice(start, end).join("");
    },
  };
}

function isBlank(character: string): boolean {
  return character === "\u0085" || character.trim() === "";
}
