// `npm test` in a fresh clone: installs what is missing, builds, runs the quick tests. `npm run test:all` is the same with
// `--long` and runs the long tests, which `npm test` leaves out. Other arguments go to vitest.
import "./setup/node-version.mjs";
import { build } from "./setup/build.mjs";
import { installMissing } from "./setup/install.mjs";
import { runTool } from "./setup/run-command.mjs";
import { ensureTestPrograms, runTests } from "./setup/vitest.mjs";

const args = process.argv.slice(2).filter((argument) => argument !== "--long");
const set = process.argv.includes("--long") ? "long" : "quick";

await installMissing();
await ensureTestPrograms();

const steps = [
  () => runTool("tsx/dist/cli.mjs", ["scripts/generate.ts", "--check"]),
  () => build(),
  async () => (await runTests(set, args)).code,
];
for (const step of steps) {
  const code = await step();
  if (code !== 0) process.exit(code);
}
