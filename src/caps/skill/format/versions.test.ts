import { expect, test } from "vitest";
import { compareVersions, isPrerelease, isVersion } from "./versions.ts";

test("versions are ordered as Semantic Versioning orders them, newest first", () => {
  const newestFirst = [
    "2.0.0",
    "1.10.0",
    "1.9",
    "1.0.1",
    "1.0.0",
    "1.0.0-rc.1",
    "1.0.0-beta.11",
    "1.0.0-beta.2",
    "1.0.0-alpha.beta",
    "1.0.0-alpha.1",
    "1.0.0-alpha",
    "0.9",
  ];
  for (let round = 0; round < newestFirst.length; round++) {
    const shuffled = [...newestFirst.slice(round), ...newestFirst.slice(0, round)];
    expect(shuffled.sort(compareVersions)).toEqual(newestFirst);
  }
});

test.each(["1", "v1.2", "1.2.3", "2026.11.15", "1.0.0-rc.1+build.5"])("%s is a version", (text) => {
  expect(isVersion(text)).toBe(true);
});

test.each(["", "latest", "1.2.3.4", "1..2", "scripts", "../1.0", "1.0 "])("%j is not a version", (text) => {
  expect(isVersion(text)).toBe(false);
});

test("a label makes a version a prerelease, build metadata does not", () => {
  expect([isPrerelease("1.0.0-rc.1"), isPrerelease("1.0.0+5")]).toEqual([true, false]);
});
