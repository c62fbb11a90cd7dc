// Chains as people keep them: a file of JSON or YAML.
import { parse } from "yaml";
import { type ChainNode, chains } from "../../caps/chains/protocol.ts";
import { A2EError, messageOf } from "../../protocol/errors.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../protocol/json.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";

export interface ChainFile {
  readonly chain_id: string;
  readonly nodes: ChainNode[];
  readonly entry_node: string;
  readonly initial_input?: JsonObject;
  readonly timeout: number;
  readonly max_parallel: number;
}

/** Throws a CliError that names the file and the problem. */
export function parseChainFile(readText: () => string, file: string): ChainFile {
  let value: unknown;
  try {
    // JSON is YAML as well.
    value = parse(readText());
  } catch (cause) {
    throw unreadable(file, messageOf(cause));
  }
  const chain = Array.isArray(value) ? { nodes: value } : value;
  if (!isJsonObject(chain)) throw unreadable(file, "expected a chain with `nodes`, or a list of nodes");
  const parsed = chains.calls.run.parseRequest(copyJson(chain));
  if (parsed instanceof A2EError) throw unreadable(file, parsed.message);
  const { chain_id, nodes, entry_node, initial_input, timeout, max_parallel } =
    parsed as unknown as Required<ChainFile>;
  const given = Object.hasOwn(chain, "initial_input") ? { initial_input } : {};
  return { chain_id: chain_id || nameOf(file), nodes, entry_node, ...given, timeout, max_parallel };
}

export function parseInput(text: string, readText: (path: string) => string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith("@") ? readText(text.slice(1)) : text);
  } catch (cause) {
    throw new CliError(`--input: ${messageOf(cause)}`, { exitCode: exitCodes.usage });
  }
  if (!isJsonObject(value)) throw new CliError("--input: expected a JSON object", { exitCode: exitCodes.usage });
  return value;
}

function nameOf(file: string): string {
  return /([^/\\]*?)(\.[a-z]+)?$/i.exec(file)?.[1] || "chain";
}

function unreadable(file: string, why: string): CliError {
  return new CliError(`${file}: ${why}`, { exitCode: exitCodes.usage });
}
