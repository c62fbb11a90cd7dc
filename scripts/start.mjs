// `npm start` in a fresh clone: installs, builds, runs a host. Arguments go to `a2e serve`.
import "./setup/node-version.mjs";
import { buildIfStale } from "./setup/build.mjs";
import { installMissing } from "./setup/install.mjs";
import { root } from "./setup/run-command.mjs";

stopWithParent();
await installMissing();
await buildIfStale();

// In this process, so that signals and the exit code are the host's own.
const main = `${root}/dist/cli/main.js`;
process.argv = [process.execPath, main, "serve", ...process.argv.slice(2)];
await import(new URL("../dist/cli/main.js", import.meta.url).href);

/**
 * npm passes SIGTERM to the shell between it and this process, and the shell dies without passing it on: the host would
 * go on without a parent and hold its port.
 */
function stopWithParent() {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, 250).unref();
}
