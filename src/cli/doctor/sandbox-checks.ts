// The sandbox checks of `a2e doctor`: which sandboxes work here, why the others do not, and in which programs would
// run.
import { openSandboxes } from "../../compose/configured-host.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import type { Sandboxes } from "../../plugin/ports/sandbox.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Finding } from "./finding.ts";

export async function checkSandboxes(config: A2EHostConfig): Promise<Finding[]> {
  const sandboxes = openSandboxes(config);
  try {
    const reports = await sandboxes.report();
    const each = reports.map(
      ({ name, isUsable, explanation }): Finding => ({
        name,
        status: isUsable ? "ok" : "warn",
        message: explanation,
      }),
    );
    return [await checkDefault(config.sandbox.default, sandboxes), ...each];
  } finally {
    await sandboxes.close();
  }
}

async function checkDefault(wanted: string, sandboxes: Sandboxes): Promise<Finding> {
  const name = "sandbox";
  try {
    const { name: chosen } = await sandboxes.process();
    if (chosen !== "none") return { name, status: "ok", message: `programs run in ${chosen}` };
    return {
      name,
      status: "warn",
      message: "programs run without any confinement, because the config asks for it",
      advice: "Set sandbox.default to auto.",
    };
  } catch (error) {
    // A sandbox that the config names must work.
    const status = wanted === "auto" ? "warn" : "fail";
    return { name, status, message: messageOf(error), advice: "Programs and skills with scripts cannot be run here." };
  }
}
