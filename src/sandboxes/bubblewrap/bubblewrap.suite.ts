// The shared suites of sandboxes for bubblewrap, with or without control groups.
import { defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import type { ProcessSandbox } from "../../plugin/ports/sandbox.ts";
import type { Opened } from "../opened.ts";
import { testConfinement } from "../suites/confinement.suite.ts";
import { testProcessSandbox } from "../suites/process-sandbox.suite.ts";
import { testRefusals } from "../suites/refusals.suite.ts";
import { openBubblewrap } from "./probe.ts";

export function testBubblewrap({ usesControlGroups }: { usesControlGroups: boolean }): void {
  const name = `bubblewrap, ${usesControlGroups ? "with" : "without"} control groups`;
  const open = async () => sandboxOf(await openBubblewrap({ defaults, usesControlGroups }));
  const treeLimits = { memory: usesControlGroups, processorTime: usesControlGroups };
  testProcessSandbox(name, open, { isExact: true });
  testRefusals(name, async (hidden) => sandboxOf(await openBubblewrap({ defaults, usesControlGroups, hidden })));
  testConfinement(name, open, { node: process.execPath, treeLimits, ignoredWarning: "timeout", system: "host" });
}

export function hasControlGroups({ explanation }: Opened<ProcessSandbox>): boolean {
  return explanation.includes("by control groups");
}

export function sandboxOf({ sandbox, explanation }: Opened<ProcessSandbox>): ProcessSandbox {
  if (sandbox === undefined) throw new Error(explanation);
  return sandbox;
}
