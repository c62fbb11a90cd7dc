// `npm run bench`: installs the peers, compiles, measures. Arguments go to bench/run.ts.
import "./setup/node-version.mjs";
import { installMissing } from "./setup/install.mjs";
import { root, run, runTool } from "./setup/run-command.mjs";

await installMissing({ withBench: true });
const compiled = await runTool("typescript/bin/tsc", ["-p", "bench/tsconfig.json"]);
process.exitCode =
  compiled === 0
    ? await run(process.execPath, [`${root}/bench/dist/bench/run.js`, ...process.argv.slice(2)])
    : compiled;
