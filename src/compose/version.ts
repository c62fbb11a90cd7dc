import { readFileSync } from "node:fs";

/** The version in package.json, whose relative path is the same from the sources and from the build. */
export function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
