import { existsSync } from "node:fs";
import { run, say } from "./run-command.mjs";

/**
 * Installs a package where this machine lets us; elsewhere it does nothing.
 * @param {string} name
 */
export async function installWithApt(name) {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  say(`Installing ${name} with apt-get …`);
  /** @type {import("./run-command.mjs").RunOptions} */
  const quiet = { env: { DEBIAN_FRONTEND: "noninteractive" }, stdout: "ignore" };
  await run("apt-get", ["update", "-qq"], quiet);
  await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name], quiet);
}
