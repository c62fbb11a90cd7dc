// Options of a2e that stand behind the name of a tool or skill, among its arguments.
import type { JsonObject } from "../../protocol/json.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Flag } from "./flags.ts";
import { parseSeconds } from "./seconds.ts";
import { type CalledKind, findProperty } from "./tool-arguments.ts";

export interface MisplacedOptions {
  json?: boolean;
  jsonArgs?: string;
  timeout?: number;
  llm?: string;
  help?: boolean;
}

export interface Called {
  readonly kind: CalledKind;
  readonly name: string;
  readonly input_schema: JsonObject;
}

/** A flag is taken for an option of a2e if the called tool or skill has no argument of that name. */
export function takeOwnFlags(flags: readonly Flag[], called: Called): { own: Flag[]; misplaced: MisplacedOptions } {
  const own: Flag[] = [];
  const misplaced: MisplacedOptions = {};
  for (const flag of flags) {
    const { name, value } = flag;
    if (findProperty(name, called.input_schema) !== undefined) own.push(flag);
    else if (name === "json" && value === undefined) misplaced.json = true;
    else if (name === "help" || name === "h") misplaced.help = true;
    else if (name === "json-args" && value !== undefined) misplaced.jsonArgs = value;
    else if (name === "timeout" && value !== undefined) misplaced.timeout = toSeconds(value);
    else if (name === "llm" && value !== undefined && called.kind === "skill") misplaced.llm = value;
    // These options select the host, so they must be read before the host is asked for the schema.
    else if (/^(url|config|token)$/.test(name)) {
      throw usage(
        `${called.name} has no argument "${name}"`,
        `As an option of a2e, --${name} comes before the ${called.kind}'s name.`,
      );
    } else own.push(flag);
  }
  return { own, misplaced };
}

function toSeconds(text: string): number {
  try {
    return parseSeconds(text);
  } catch (cause) {
    throw usage(`--timeout: ${(cause as Error).message}`);
  }
}

function usage(message: string, hint?: string): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, ...(hint === undefined ? {} : { hint }) });
}
