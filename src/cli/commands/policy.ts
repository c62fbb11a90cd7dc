// `a2e policy explain`: whether roles allow a call, and by which pattern.
import type { Command } from "commander";
import { tables } from "../../caps/tables.generated.ts";
import { nearest } from "../../machinery/nearest.ts";
import { core } from "../../protocol/core.ts";
import type { Capability } from "../../protocol/table/capability.ts";
import { callNames, factsOf, shortType, type TableCall } from "../../rights/call-facts.ts";
import { explain } from "../../rights/explain.ts";
import type { Resources } from "../../rights/resources.ts";
import { compileRights } from "../../rights/rights.ts";
import { builtInRoles, findRole } from "../../rights/roles.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { configFileName, readConfig } from "../hosting/config-options.ts";
import type { Terminal } from "../terminal.ts";

interface ExplainOptions {
  config?: string;
  role: string[];
  call: string;
  resource?: string[];
  json?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  const collect = (value: string, before: string[] = []) => [...before, value];
  command
    .command("explain")
    .description("tell whether a role allows a call, and why")
    .requiredOption(
      "-r, --role <name>",
      "a role of the config, or operator, agent or observer; repeat it for more",
      collect,
    )
    .requiredOption("--call <name>", "a call, such as tool/call or memory/retrieve")
    .option("--resource <kind:name>", "what the call is about, such as tool:js_eval; repeat it for more", collect)
    .option("-c, --config <file>", `config file; without it ${configFileName} of this folder, if it exists`)
    .option("--json", "print the decision and its reasons as JSON")
    .addHelpText("after", examples(exampleLines))
    .action((options: ExplainOptions) => explainCall(options, terminal));
  command.addHelpText("after", examples(exampleLines));
}

const exampleLines = [
  "a2e policy explain --role observer --call tool/call --resource tool:js_eval",
  "a2e policy explain --role reader --role writer --call memory/store --resource ns:notes --json",
];

async function explainCall(options: ExplainOptions, terminal: Terminal): Promise<void> {
  const { config } = await readConfig(options.config === undefined ? {} : { config: options.config }, terminal);
  const known = [...Object.keys(config.roles), ...Object.keys(builtInRoles)];
  for (const name of options.role)
    if (findRole(config.roles, name) === undefined) throw unknown("role", name, known, known);
  const tableCall = findCall(options.call);
  const resources = toResources(tableCall, options.resource ?? []);
  const { allowed, lines } = explain(compileRights(config.roles, options.role), tableCall, resources);
  if (options.json) return terminal.print(JSON.stringify({ allowed, reasons: lines.slice(1) }, null, 2));
  const { about } = tableCall.call;
  const note = "instance" in about ? [`the name of the ${about.resource} was checked by the call that made it`] : [];
  const [first = "", ...reasons] = [...lines, ...note];
  terminal.print(allowed ? terminal.style.green(first) : terminal.style.red(first));
  for (const reason of reasons) terminal.print(`  ${reason}`);
}

function findCall(wanted: string): TableCall {
  const capabilities: readonly Capability[] = [core, ...Object.values(tables)];
  const known = capabilities.flatMap((capability) =>
    Object.entries(capability.calls).map(([name, call]) => ({ capability, name, call })),
  );
  const found = known.find((tableCall) => {
    const { type, aliases } = tableCall.call;
    return type === wanted || Object.hasOwn(aliases, wanted) || callNames(factsOf(tableCall)).includes(wanted);
  });
  if (found !== undefined) return found;
  const names = known.flatMap((tableCall) => callNames(factsOf(tableCall)));
  const capability = capabilities.find(({ name, spellings }) =>
    [name, ...spellings].includes(wanted.split("/")[0] ?? ""),
  );
  const similar = Object.values(capability?.calls ?? {}).map(({ type }) => shortType(type));
  throw unknown("call", wanted, names, similar);
}

/** Without a name, a call that could have named a resource is about all of its kind. */
function toResources({ call: { type, about } }: TableCall, given: readonly string[]): Resources {
  const kind = about.resource;
  const names = given.map((resource) => {
    const [, found = resource, name = ""] = /^([^:]*):([\s\S]*)$/.exec(resource) ?? [];
    if (kind === undefined) throw usage(`${shortType(type)} is not about a resource`, "Leave --resource out.");
    if (found !== kind || name === "")
      throw usage(`${shortType(type)} is about a ${kind}, not about "${resource}"`, `Write it as ${kind}:name.`);
    return name;
  });
  if ("instance" in about) return "some";
  if (names.length > 0) return names;
  return "from" in about || "resolve" in about || kind === undefined ? "every" : "some";
}

function unknown(what: string, wanted: string, candidates: readonly string[], listed: readonly string[]): CliError {
  const near = nearest(wanted, candidates);
  const known = listed.length === 0 ? "" : `Known: ${listed.join(", ")}.`;
  return usage(`there is no ${what} "${wanted}"`, near === undefined ? known : `Did you mean "${near}"?`);
}

function usage(message: string, hint: string): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, ...(hint === "" ? {} : { hint }) });
}
