// A real browser for tests of pages.
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import type { Need } from "./needs.suite.ts";

const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

export const chromiumProgram: Need = {
  name: `Chromium at ${executablePath}, or named in CHROMIUM_PATH`,
  isMet: existsSync(executablePath),
};

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Pages that are not of this machine, as far as the browser can tell.
  "--host-resolver-rules=MAP *.test 127.0.0.1",
];

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath, args: flags });
}
