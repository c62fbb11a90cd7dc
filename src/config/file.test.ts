// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config's own syntax
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigError } from "../machinery/options/problem.ts";
import { loadHostConfig, parseConfigText } from "./file.ts";
import { toHostConfig } from "./parsing.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-config-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function load(text: string | Uint8Array, name = "a2e.yaml") {
  const path = join(folder, name);
  await writeFile(path, text);
  return loadHostConfig(path, { env: {} });
}

async function failureOf(attempt: Promise<unknown>): Promise<ConfigError> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return error as ConfigError;
}

describe("a config file", () => {
  test("in YAML is read, and its relative paths start at its folder", async () => {
    const config = await load("server:\n  port: 9001 # other\nplugins:\n  - type: tools\ndata_dir: data\n");
    expect(config.server.port).toBe(9001);
    expect(config.base_dir).toBe(folder);
    expect(config.data_dir).toBe(join(folder, "data"));
  });

  test("in JSON is read, also with tabs and a byte order mark", async () => {
    expect((await load('\uFEFF{\n\t"server": {\n\t\t"port": 9001\n\t}\n}\n', "a2e.json")).server.port).toBe(9001);
  });

  test.each(["", "\n", "# only words\n", "---\n", "~\n", "{}"])("with %j in it means the defaults", async (text) => {
    expect(await load(text)).toEqual(toHostConfig({}, { env: {}, baseDir: folder }));
  });

  test("that is missing, a folder, too large or binary is reported as such", async () => {
    await mkdir(join(folder, "sub"));
    expect((await failureOf(loadHostConfig(join(folder, "none.yaml")))).message).toContain(
      "none.yaml has a problem:\n  no such file",
    );
    expect((await failureOf(loadHostConfig(join(folder, "sub")))).message).toContain("is a folder");
    expect((await failureOf(load("#".repeat(1024 * 1024 + 1)))).message).toContain("is larger than");
    expect((await failureOf(load(new Uint8Array([0x61, 0xff, 0xfe])))).message).toContain("is not a text in UTF-8");
  });

  test.each([
    ["host_id: a\nhost_id: b\n", 2, 1, 'the key "host_id" stands here twice'],
    ["server:\n\tport: 1\n", 2, 1, "tabs cannot indent"],
    ["host_id: a: b\n", 1, 10, "two settings on one line"],
    ["host_id: @x\n", 1, 10, "must be quoted"],
    ['host_id: "x\n', 2, 1, "is missing"],
    ["plugins: [1\n", 2, 1, "a bracket is not closed"],
    ["host_id: a\n---\nhost_id: b\n", 2, 1, "single document"],
    ["- a\n", 1, 1, "found a list"],
    ["just words\n", 1, 1, "found a single value"],
    ["host_id: a\nserver:\n  prot: 1\n", 3, 3, 'server.prot: unknown key; did you mean "port"?'],
    ["audit:\n  rotate:\n    max_bytes: x\n", 3, 16, "audit.rotate.max_bytes: expected a number"],
    ["plugins:\n  - type: tools\n  - name: x\n", 3, 5, "plugins[1].type: is missing"],
    ["auth_token: a\nserver: { auth_token: b }\n", 2, 23, "server.auth_token: has another value than auth_token"],
  ])("with the mistake %j points at line %i, column %i", async (text, line, column, message) => {
    const error = await failureOf(load(text));
    expect(error.problems).toHaveLength(1);
    expect(error.message).toContain(message);
    expect(error.problems[0]).toMatchObject({ line, column });
    expect(error.message).toContain(`a2e.yaml:${line}:${column} `);
  });

  test("with aliases that multiply, are undefined or refer to themselves is refused", async () => {
    const rows = ["a: &a [x,x,x,x,x,x,x,x,x]"];
    for (const [name, of] of ["ba", "cb", "dc", "ed", "fe"])
      rows.push(`${name}: &${name} [${Array(9).fill(`*${of}`).join(",")}]`);
    expect((await failureOf(load(rows.join("\n")))).message).toContain("alias");
    expect((await failureOf(load("host_id: *nobody\n"))).message).toContain("alias");
    await failureOf(load("plugins:\n  - type: tools\n    metadata: &m { again: *m }\n"));
    await failureOf(load("plugins: &p [*p]\n"));
  });

  test.each(["[", "{", "- ", "a: {", '{"a":'])("nested endlessly with %j is refused", async (piece) => {
    expect((await failureOf(load(piece.repeat(20_000)))).problems).toHaveLength(1);
  });

  test("that cannot be read as YAML does not show its secrets", async () => {
    for (const text of [
      'auth_token: "hunter2" x\n',
      "auth_token: hunter2: x\n",
      "auth_token:hunter2\n",
      'auth_token: "\\hunter2"\n',
      "auth_token: *hunter2\n",
      "auth_token: hunter2\nhunter2\n",
      "auth_token: [hunter2\n",
    ]) {
      expect((await failureOf(load(text))).message).not.toContain("hunter2");
    }
  });
});

test("no text whatsoever fails with anything but a ConfigError", async () => {
  const token = fc.constantFrom(
    "server",
    "plugins",
    "port",
    "audit",
    ":",
    " ",
    "\n",
    "  ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "&a",
    "*a",
    "!!int",
    "|",
    ">",
    "#",
    "?",
    "<<",
    "1",
    "~",
    "\t",
    ",",
    "%",
    "---",
    "${A}",
  );
  const yamlLike = fc.array(token, { maxLength: 40 }).map((tokens) => tokens.join(""));
  await fc.assert(
    fc.asyncProperty(fc.oneof(yamlLike, fc.string({ unit: "binary" }), fc.json()), async (text) => {
      try {
        await parseConfigText(text, { env: {} });
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
      }
    }),
    { numRuns: 2000 },
  );
});
