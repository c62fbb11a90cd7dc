import { readFileSync } from "node:fs";

/** The version in package.json, which lies equally far from the sources and from what is built of them. */
export function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
