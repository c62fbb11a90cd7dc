// `a2e doctor`: checks whether this machine can run a host, and what is missing.
import type { Command } from "commander";
import { examine } from "../doctor/doctor-checks.ts";
import type { Finding } from "../doctor/finding.ts";
import { exitCodes } from "../exit-codes.ts";
import { examples } from "../help-text.ts";
import { addConfigOptions, type ConfigChoice, parsePort } from "../hosting/config-options.ts";
import type { Terminal } from "../terminal.ts";

interface DoctorOptions extends ConfigChoice {
  json?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  addConfigOptions(command)
    .option("-p, --port <port>", "port to look at (default: that of the config)", parsePort)
    .option("--json", "print the findings as JSON")
    .addHelpText("after", examples(["a2e doctor", "a2e doctor --config my.yaml --json"]))
    .action((options: DoctorOptions) => diagnose(options, terminal));
}

async function diagnose(options: DoctorOptions, terminal: Terminal): Promise<void> {
  const findings = await examine(options, terminal);
  if (options.json) terminal.print(JSON.stringify(findings, null, 2));
  else for (const finding of findings) terminal.print(renderFinding(finding, terminal));
  if (findings.some(({ status }) => status === "fail")) terminal.exitCode = exitCodes.failed;
}

function renderFinding({ name, status, message, advice }: Finding, { style }: Terminal): string {
  const marks = { ok: style.green("ok  "), warn: style.yellow("warn"), fail: style.red("fail") };
  const line = `${marks[status]}  ${name.padEnd(10)}  ${message.replaceAll("\n", "\n                  ")}`;
  return advice === undefined ? line : `${line}\n${" ".repeat(18)}${style.dim(advice)}`;
}
