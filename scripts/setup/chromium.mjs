// The client is tested in a real browser, which is the one thing that npm does not bring.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installWithApt } from "./apt.mjs";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** The path of a Chromium, installed with apt-get where that is possible; undefined where there is none. */
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
