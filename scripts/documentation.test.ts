// Tests that the README and the guide are correct: blocks run, examples equal the files they name, configs are valid.

import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseConfigText, toHostConfig } from "a2e/host";
import { type ConfiguredServer, startConfiguredServer } from "a2e/server";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { commands } from "../src/cli/command-list.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Block {
  readonly page: string;
  readonly language: string;
  /** `run`, `example: <path>`, or nothing. */
  readonly mark: string;
  readonly text: string;
}

const pages = await findPages();
const texts = new Map(
  await Promise.all(pages.map(async (page) => [page, await readFile(join(root, page), "utf8")] as const)),
);
const blocks = [...texts].flatMap(([page, text]) => findBlocks(page, text));

async function findPages(): Promise<string[]> {
  const inRoot = (await readdir(root)).filter((name) => name.endsWith(".md"));
  const inDocs = (await readdir(join(root, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
  return [...inRoot, ...inDocs.map((name) => `docs/${name}`)].sort();
}

function findBlocks(page: string, text: string): Block[] {
  const found = text.matchAll(/(?:<!-- ([^>]*?) -->\n\n)?^```(\w+)\n(.*?)^```$/gms);
  return [...found].map(([, mark = "", language = "", content = ""]) => ({ page, mark, language, text: content }));
}

function ofLanguage(language: string): Block[] {
  return blocks.filter((block) => block.language === language && !block.page.startsWith("docs/reference/"));
}

const titled = (block: Block) => [`${block.page}: ${block.text.trim().split("\n")[0]}`, block] as const;

describe("code", () => {
  /** Within the tree, so that imports of the package and of its dependencies are found. */
  let folder: string;
  let dataDir: string;
  let server: ConfiguredServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(root, "scripts", ".snippets-"));
    dataDir = await mkdtemp(join(tmpdir(), "a2e-snippets-"));
    server = await startConfiguredServer(toHostConfig({ server: { port: 0 }, data_dir: dataDir }, { env: {} }));
  });

  afterAll(async () => {
    await server.close(0);
    for (const path of [folder, dataDir]) await rm(path, { recursive: true, force: true });
  });

  const runnable = blocks.filter(({ mark }) => mark === "run");

  test.each(runnable.map(titled))("runs: %s", async (_, block) => {
    const path = join(folder, `snippet-${runnable.indexOf(block)}.mts`);
    await writeFile(path, block.text);
    vi.stubEnv("A2E_URL", server.url);
    const print = vi.spyOn(console, "log").mockReturnValue(undefined);

    await import(/* @vite-ignore */ path);

    expect(print).toHaveBeenCalled();
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  const shown = blocks.filter(({ mark }) => mark.startsWith("example: "));

  test.each(shown.map(titled))("is the file it names: %s", async (_, { mark, text }) => {
    expect(text).toBe(await readFile(join(root, mark.slice("example: ".length)), "utf8"));
  });

  test("is marked to be tested, wherever it is JavaScript", () => {
    expect(ofLanguage("js").filter(({ mark }) => mark === "")).toEqual([]);
  });
});

test.each(ofLanguage("yaml").map(titled))("is a valid config: %s", async (_, { text }) => {
  await expect(
    parseConfigText(text, { env: { A2E_TOKEN_OF_LAB: "secret", CRM_TOKEN: "secret" } }),
  ).resolves.toBeDefined();
});

test("shell blocks name only scripts and commands that exist", async () => {
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const lines = ofLanguage("sh").flatMap(({ text }) => text.trim().split("\n"));
  // Programs of others, which only show how to use ours.
  const isForeign = (line: string) =>
    /^(claude mcp|codex mcp|npx @modelcontextprotocol\/inspector) .*\ba2e\b/.test(line);
  const unknown = lines.filter((line) => {
    if (isForeign(line)) return false;
    const file = /^node (examples\/\S+)$/.exec(line)?.[1];
    if (file !== undefined) return !existsSync(join(root, file));
    const script = /^npm (?:run )?([\w:]+)/.exec(line)?.[1];
    const command = /\bnpx a2e (\w+)/.exec(line)?.[1];
    return !(script !== undefined && script in scripts) && !(command !== undefined && command in commands);
  });
  expect(unknown).toEqual([]);
});

test("links within the documentation lead somewhere", () => {
  const dead = [...texts].flatMap(([page, text]) => {
    const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(([, target = ""]) => target);
    return targets
      .filter((target) => !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page} → ${target}`);
  });
  expect(dead).toEqual([]);
});

test("the places that the glossary names exist", () => {
  const places = [...(texts.get("docs/glossary.md") ?? "").matchAll(/`(src\/[^`]+)`/g)].map(([, path = ""]) => path);
  expect(places.length).toBeGreaterThan(20);
  expect(places.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("the reading list in ARCHITECTURE.md has at most 2,500 lines, and each file exists", async () => {
  const text = texts.get("ARCHITECTURE.md") ?? "";
  const section = text.slice(text.indexOf("## A reading list"), text.indexOf("## Sessions"));
  let lines = 0;
  let folder = "";
  for (const [, name = ""] of section.matchAll(/`([\w/-]+\.ts)`/g)) {
    if (name.includes("/")) folder = dirname(name);
    const file = name.includes("/") ? name : `${folder}/${name}`;
    lines += (await readFile(join(root, "src", file), "utf8")).split("\n").length - 1;
  }
  expect(lines).toBeGreaterThan(1_500);
  expect(lines).toBeLessThanOrEqual(2_500);
});
