// `a2e skills run`: runs a skill once.
import { type SkillDefinition, type SkillResult, skill } from "../../caps/skill/protocol.ts";
import type { A2EClient } from "../../client/client.ts";
import { nearest } from "../../machinery/nearest.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { renderCallEvent } from "../arguments/call-event-text.ts";
import { parseFlags } from "../arguments/flags.ts";
import { createTextReader, isInputNamed } from "../arguments/input-text.ts";
import { takeOwnFlags } from "../arguments/own-flags.ts";
import { parseJsonArguments, propertiesOf, toArguments, typesOf } from "../arguments/tool-arguments.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { type HostChoice, linkToHost } from "../hosting/host-link.ts";
import { toPlainLine, toPlainText } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

export interface RunOptions extends HostChoice {
  jsonArgs?: string;
  timeout?: number;
  llm?: string;
  json?: boolean;
}

export async function runSkill(
  given: string,
  words: readonly string[],
  options: RunOptions,
  terminal: Terminal,
): Promise<void> {
  const flags = parseFlags(words, (word) => {
    throw usage(`${JSON.stringify(word)} belongs to no argument: write --name value`);
  });
  const [name = "", version = ""] = given.split("@");
  const readText = await createTextReader(
    terminal,
    isInputNamed([options.jsonArgs, ...flags.map(({ value }) => value)]),
  );
  const link = await linkToHost(options, terminal, [skill.name]);
  try {
    const found = await findSkill(link.client, name, version);
    const { own, misplaced } = takeOwnFlags(flags, { ...found, kind: "skill" });
    if (misplaced.help) return terminal.print(renderUsage(found, terminal.program));
    const settings = { ...options, ...misplaced };
    const args = {
      ...parseJsonArguments(settings.jsonArgs, readText),
      ...toArguments(own, found.input_schema, readText, "skill"),
    };
    printResult(await call(link.client, name, version, args, settings, terminal), settings, terminal);
  } finally {
    await link.close();
  }
}

async function findSkill(client: A2EClient, name: string, version: string): Promise<SkillDefinition> {
  const { skills } = await client.use(skill).discover({ include_archived: true, include_versions: true });
  const found = skills.filter((one) => one.name === name);
  const [newest] = found;
  if (newest === undefined) {
    const names = [...new Set(skills.map((one) => one.name))];
    const near = nearest(name, names);
    throw usage(
      `there is no skill "${name}"${near === undefined ? "" : `; did you mean ${near}?`}`,
      `Skills: ${names.join(", ") || "none"}`,
    );
  }
  if (version === "") return newest;
  const pinned = found.find((one) => one.version === version);
  if (pinned !== undefined) return pinned;
  throw usage(`the skill "${name}" has no version "${version}"`, `Versions: ${newest.versions.join(", ")}`);
}

async function call(
  client: A2EClient,
  name: string,
  skill_version: string,
  args: JsonObject,
  { timeout, llm }: RunOptions,
  terminal: Terminal,
): Promise<SkillResult> {
  const interrupt = new AbortController();
  const forget = terminal.onStop(() => interrupt.abort());
  if (llm !== undefined) client.onAsk(skill.asks.llm, async () => ({ content: llm, model: "command line" }));
  try {
    const { data } = await client.use(skill).call(
      { name, skill_version, arguments: args, timeout: timeout ?? 0 },
      {
        // The host enforces the timeout; this is for a host that does not answer at all.
        timeoutMs: timeout === undefined ? 0 : timeout * 1000 + 5_000,
        signal: interrupt.signal,
        onEvent: (event) => terminal.note(terminal.noteStyle.dim(renderCallEvent(event))),
      },
    );
    if (data === null) throw new CliError("the host answered without a result");
    return data;
  } finally {
    forget();
  }
}

function printResult(result: SkillResult, { json }: RunOptions, terminal: Terminal): void {
  if (!result.success) terminal.exitCode = exitCodes.toolFailed;
  if (json) return terminal.print(JSON.stringify(result, null, 2));
  const { data, summary, error } = result;
  const instructions = isJsonObject(data) && typeof data.instructions === "string" ? data.instructions : undefined;
  const text = instructions ?? (typeof data === "string" ? data : JSON.stringify(data, null, 2));
  const isSeen = (terminal.output as { isTTY?: boolean }).isTTY === true;
  terminal.print(isSeen ? toPlainText(text) : text);
  if (typeof summary === "string" && summary !== "") terminal.note(terminal.noteStyle.dim(toPlainText(summary)));
  if (!result.success) terminal.note(`${terminal.noteStyle.red("error:")} ${toPlainText(error ?? "the skill failed")}`);
}

function renderUsage({ name, description, input_schema }: SkillDefinition, program: string): string {
  const required = Array.isArray(input_schema.required) ? input_schema.required : [];
  const lines = [...propertiesOf(input_schema)].map(([argument, schema]) => {
    const about = typeof schema.description === "string" ? schema.description : "";
    const facts = [about, required.includes(argument) ? "Required." : ""].filter((fact) => fact !== "").join(" ");
    return toPlainLine(`  --${argument} <${typesOf(schema).join("|") || "value"}>  ${facts}`.trimEnd());
  });
  return [
    `Usage: ${program} skills run ${toPlainLine(name)} [--argument value …]`,
    "",
    toPlainText(description),
    "",
    ...(lines.length === 0 ? ["It takes no arguments."] : ["Arguments:", ...lines]),
  ].join("\n");
}

function usage(message: string, hint?: string): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, ...(hint === undefined ? {} : { hint }) });
}
