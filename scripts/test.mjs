// `npm test` in a fresh clone: installs what is missing, builds, runs all tests. Arguments go to vitest.
import "./setup/node-version.mjs";
import { ensureBubblewrap } from "./setup/bubblewrap.mjs";
import { build } from "./setup/build.mjs";
import { ensureChromium } from "./setup/chromium.mjs";
import { installMissing } from "./setup/install.mjs";
import { runTool, say } from "./setup/run-command.mjs";

await installMissing();

const chromium = await ensureChromium();
if (chromium === undefined) {
  say("Missing: chromium (install it, or name one in CHROMIUM_PATH). The tests in a browser are skipped without it.");
  if (process.env.CI === "true") process.exit(1);
}

if ((await ensureBubblewrap()) === undefined) {
  say("Missing: bubblewrap. The tests of programs in a sandbox are skipped without it.");
  if (process.env.CI === "true") process.exit(1);
}

const steps = [
  () => runTool("tsx/dist/cli.mjs", ["scripts/generate.ts", "--check"]),
  () => build(),
  () =>
    runTool("vitest/vitest.mjs", ["run", ...process.argv.slice(2)], {
      env: chromium === undefined ? {} : { CHROMIUM_PATH: chromium },
    }),
];
for (const step of steps) {
  const code = await step();
  if (code !== 0) process.exit(code);
}
