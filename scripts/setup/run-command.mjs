// Runs a program and waits for it, with its output passed through. Uses Node only: nothing may be installed yet.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** @typedef {{ env?: Record<string, string>, stdout?: "inherit" | "ignore", stderr?: "inherit" | "ignore" }} RunOptions */

/** The folder of the repository, without a slash at the end. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

/**
 * Told on stderr, so that what a command prints to stdout stays its own.
 * @param {string} text
 */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

/**
 * Resolves with the exit code; a program that was ended by a signal counts as failed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<number>}
 */
export function run(command, args, { env = {}, stdout = "inherit", stderr = "inherit" } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["inherit", stdout, stderr],
      env: { ...process.env, ...env },
      // npm is a script on Windows, which only a shell finds.
      shell: process.platform === "win32" && command === "npm",
    });
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}

/**
 * Runs a program of node_modules with this Node, by the file that its package names.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 */
export function runTool(file, args, options) {
  return run(process.execPath, [`${root}/node_modules/${file}`, ...args], options);
}
