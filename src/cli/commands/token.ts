// `a2e token`: narrow a token before it is given to another agent, and show what a token allows. Works offline.
import { randomBytes } from "node:crypto";
import { type Command, InvalidArgumentError } from "commander";
import { messageOf } from "../../protocol/errors.ts";
import type { Caveats, TokenBudget } from "../../tokens/caveats.ts";
import { describeToken } from "../../tokens/describe-token.ts";
import { narrowToken } from "../../tokens/narrow-token.ts";
import { parseExpiry } from "../arguments/expiry.ts";
import { createTextReader } from "../arguments/input-text.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { toPlainLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface NarrowOptions {
  capability?: string[];
  tool?: string[];
  namespace?: string[];
  environment?: string[];
  audience?: string[];
  budget?: TokenBudget;
  depth?: number;
  expires?: number;
}

const tokenArgument = "the token; - reads it from stdin (default: the variable A2E_AUTH_TOKEN)";

export function define(command: Command, terminal: Terminal): void {
  command.addHelpText(
    "after",
    examples([
      "a2e token narrow --capability tools --tool 'read_*' --expires 1h",
      "a2e token narrow --budget calls=100 --depth 0 - < token.txt",
      "a2e token show",
    ]),
  );
  defineNarrow(command, terminal);
  command
    .command("show")
    .description("show the principal and the caveats of a token; does not check whether a host accepts it")
    .argument("[token]", tokenArgument)
    .option("--json", "print the token as JSON")
    .addHelpText("after", examples(["a2e token show", "a2e token show --json - < token.txt"]))
    .action(async (token: string | undefined, { json }: { json?: boolean }) => {
      show(await readToken(token, terminal), json === true, terminal);
    });
}

function defineNarrow(command: Command, terminal: Terminal): void {
  command
    .command("narrow")
    .description("print a token that allows less: what all of its caveats allow, old and new")
    .argument("[token]", tokenArgument)
    .option("--capability <pattern>", "only these capabilities; may be repeated, like the next four", collect)
    .option("--tool <pattern>", "only these tools", collect)
    .option("--namespace <pattern>", "only these namespaces of memory", collect)
    .option("--environment <pattern>", "only these environments", collect)
    .option("--audience <name>", "only hosts of this name", collect)
    .option("--budget <amount=n>", "amounts that may be used up in all, such as calls=100", collectBudget)
    .option("--depth <n>", "generations of subagents; 0 for none", parseDepth)
    .option("--expires <when>", "90s, 15m, 12h, 30d or a date", (text) => parseExpiry(text))
    .addHelpText(
      "after",
      "\nA pattern may have * for any characters. A caveat restricts its own kind only: with --tool alone, all other\ncapabilities stay allowed. Add --capability to restrict those.",
    )
    .addHelpText(
      "after",
      examples(["a2e token narrow --capability tools --tool 'read_*' --expires 1h", "a2e token narrow --depth 0"]),
    )
    .action(async (token: string | undefined, options: NarrowOptions) => {
      const caveats = toCaveats(options);
      if (Object.keys(caveats).length === 0) throw usage("name at least one caveat, for example --tool 'read_*'");
      const given = await readToken(token, terminal);
      // The nonce gives the token an id of its own: it has a budget of its own.
      terminal.print(narrow(given, { ...caveats, nonce: randomBytes(6).toString("base64url") }));
    });
}

function toCaveats({
  capability,
  tool,
  namespace,
  environment,
  audience,
  budget,
  depth,
  expires,
}: NarrowOptions): Caveats {
  return {
    ...(capability === undefined ? {} : { capabilities: capability }),
    ...(tool === undefined ? {} : { tools: tool }),
    ...(namespace === undefined ? {} : { namespaces: namespace }),
    ...(environment === undefined ? {} : { environments: environment }),
    ...(audience === undefined ? {} : { audience }),
    ...(budget === undefined ? {} : { budget }),
    ...(depth === undefined ? {} : { depth }),
    ...(expires === undefined ? {} : { expires_at: Math.floor(expires / 1000) }),
  };
}

function narrow(token: string, caveats: Caveats): string {
  try {
    return narrowToken(token, caveats);
  } catch (cause) {
    throw usage(messageOf(cause), "Only tokens that begin with a2e1. can be narrowed; a host mints them.", cause);
  }
}

function show(token: string, isJson: boolean, { print }: Terminal): void {
  const description = describeToken(token);
  if (description === undefined) throw usage("this is not a token that can be narrowed: those begin with a2e1.");
  const { root, links } = description;
  if (isJson) return print(JSON.stringify({ ...root, caveats: links.map((link) => link ?? "unknown") }, null, 2));
  print(`principal  ${toPlainLine(root.principal)}`);
  print(`token      ${toPlainLine(root.id)}, minted ${renderTime(root.issued_at)} with key ${toPlainLine(root.key)}`);
  for (const [index, link] of links.entries()) print(`caveat ${index + 1}   ${renderLink(link)}`);
  if (links.length === 0) print("no caveats: it allows whatever its principal may do");
}

function renderLink(link: Caveats | undefined): string {
  if (link === undefined) return "not known to this release; hosts of this release refuse the token";
  const { nonce: _, ...caveats } = link;
  const texts = Object.entries(caveats).map(([name, value]) => {
    if (name === "expires_at") return `expires ${renderTime(value as number)}`;
    if (Array.isArray(value)) return `${name}: ${value.join(", ") || "none"}`;
    return `${name}: ${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
  });
  return toPlainLine(texts.join("; ")) || "none";
}

function renderTime(seconds: number): string {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? "at an unknown time" : time.toISOString();
}

async function readToken(token: string | undefined, terminal: Terminal): Promise<string> {
  const given = token === "-" ? (await createTextReader(terminal, true))("-") : (token ?? terminal.env.A2E_AUTH_TOKEN);
  if (given !== undefined && given.trim() !== "") return given.trim();
  throw usage("no token was given", "Set A2E_AUTH_TOKEN, or use - to read it from stdin.");
}

function usage(message: string, hint?: string, cause?: unknown): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, cause, ...(hint === undefined ? {} : { hint }) });
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function collectBudget(text: string, before: TokenBudget = {}): TokenBudget {
  const [, name = "", amount = ""] = /^([a-z_]+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("expected a name and an amount, such as calls=100");
  return { ...before, [name]: Number(amount) };
}

function parseDepth(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number from 0");
}
