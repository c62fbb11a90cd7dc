// The client is tested in a real browser, which npm does not install.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installWithApt } from "./apt.mjs";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** The path of a Chromium, installed with apt-get if possible; undefined if it is not available. */
export async function ensureChromium() {
  const found = findChromium();
  if (found !== undefined) return found;
  await installWithApt("chromium");
  return findChromium();
}

function findChromium() {
  const { CHROMIUM_PATH, PATH = "" } = process.env;
  if (CHROMIUM_PATH) return existsSync(CHROMIUM_PATH) ? CHROMIUM_PATH : undefined;
  const paths = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return paths.find((path) => existsSync(path));
}
