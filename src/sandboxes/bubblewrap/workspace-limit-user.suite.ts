// Started by a test as a process of an ordinary user: runs every attack on the limit of a workspace, as JSON on stdout.
import { mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import { type Attack, type Attacked, attacks, runAttack } from "../suites/workspace-limit.suite.ts";
import { openBubblewrap } from "./probe.ts";

const { sandbox, explanation } = await openBubblewrap({ defaults });
if (sandbox === undefined) throw new Error(explanation);
const attacked: Partial<Record<Attack, Attacked>> = {};
let lockedMode: number | undefined;
for (const name of Object.keys(attacks) as Attack[]) {
  // The test removes them: a locked folder needs root.
  const path = await mkdtemp(join(tmpdir(), "workspace-"));
  attacked[name] = await runAttack(sandbox, name, path);
  if (name === "folders that nobody may read") lockedMode = (await stat(join(path, "locked"))).mode & 0o777;
}
await sandbox.close();
console.log(JSON.stringify({ attacked, lockedMode }));
