import { expect, test } from "vitest";
import { ConfigError } from "../../machinery/options/problem.ts";
import { memoryLimits } from "./limits.ts";
import { parseMemoryOptions } from "./options.ts";

test("without options the limits have their documented defaults", () => {
  expect(parseMemoryOptions({})).toMatchObject({
    working: { max_entries: memoryLimits.maxWorkingEntries, on_full: "evict" },
    episodic: { max_entries: memoryLimits.maxEpisodicEntries, on_full: "evict" },
    semantic: { max_entries: memoryLimits.maxSemanticEntries, on_full: "refuse" },
    tokenizer: "unicode61",
    embedder: "none",
  });
});

test("every invalid option is reported with its path and, if there is a similar name, the option that was probably meant", () => {
  const options = {
    tokeniser: "porter",
    tokenizer: "trigram",
    semantic: { max_entrys: 5, max_bytes: 1 },
    namespaces: { vault: { access: "secret", owner: ["ada"] } },
  };

  let thrown: unknown;
  try {
    parseMemoryOptions(options);
  } catch (error) {
    thrown = error;
  }

  expect(thrown).toBeInstanceOf(ConfigError);
  const problems = (thrown as ConfigError).problems.map(({ path, suggestion }) => [path, suggestion]);
  expect(new Map(problems as [string, string | undefined][])).toEqual(
    new Map([
      ["tokeniser", "tokenizer"],
      ["tokenizer", undefined],
      ["semantic.max_entrys", "max_entries"],
      ["semantic.max_bytes", undefined],
      ["namespaces.vault.access", undefined],
      ["namespaces.vault.owner", "owners"],
    ]),
  );
});
