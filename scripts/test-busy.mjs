// `npm run test:busy [rounds]`: the quick tests, three times in a row, while two loops keep the processor busy and a third fills
// and empties the disk. A test that depends on speed or on free space fails here. It needs 3 GB of free space.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfStale } from "./setup/build.mjs";
import { installMissing } from "./setup/install.mjs";
import { say } from "./setup/run-command.mjs";
import { ensureTestPrograms, runTests } from "./setup/vitest.mjs";

const rounds = Number(process.argv[2] ?? 3);
const folder = mkdtempSync(join(tmpdir(), "a2e-busy-"));
const spin = "for (;;);";
const fill = `
  const { rmSync, writeSync, openSync, closeSync } = require("node:fs");
  const block = Buffer.alloc(8 * 1024 * 1024, 1);
  for (;;) {
    const file = openSync(process.argv[1], "w");
    for (let count = 0; count < 256; count++) writeSync(file, block);
    closeSync(file);
    rmSync(process.argv[1]);
  }`;

await installMissing();
await ensureTestPrograms();
await buildIfStale();

const disturbances = [[spin], [spin], [fill, join(folder, "filler")]].map(([code = "", ...args]) =>
  spawn(process.execPath, ["-e", code, ...args], { stdio: ["ignore", "ignore", "inherit"] }),
);
const lines = [];
try {
  for (let round = 1; round <= rounds; round++) {
    const startedAt = performance.now();
    const { code, passed, failed, skipped } = await runTests("quick");
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    lines.push(`round ${round}: ${passed} passed, ${failed} failed, ${skipped} skipped (${seconds} s)`);
    if (code !== 0) process.exitCode = 1;
  }
} finally {
  for (const child of disturbances) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
say(lines.join("\n"));
