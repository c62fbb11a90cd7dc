// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config's own syntax
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError, type ConfigProblem } from "../machinery/options/problem.ts";
import { defaultLimits } from "../protocol/limits.ts";
import { toLimits } from "./limits.ts";
import { type ConfigOptions, parseHostConfig, toHostConfig } from "./parsing.ts";
import { type A2EHostConfig, defaultPlugins } from "./schema.ts";

const baseDir = resolve("/srv/host");

function read(input: unknown, options: ConfigOptions = {}): A2EHostConfig {
  return toHostConfig(input, { env: {}, baseDir, ...options });
}

function problemsOf(input: unknown, env: Record<string, string> = {}): ConfigProblem[] {
  const parsed = parseHostConfig(input, { env, baseDir });
  return "problems" in parsed ? parsed.problems : [];
}

describe("defaults", () => {
  test("an empty config is a whole config", () => {
    const data = join(baseDir, ".a2e");
    const { global_limits, ...config } = read({});
    expect(config).toEqual({
      host_id: "a2e-host",
      auth: {
        keys: false,
        jwt: [],
        certificates: [],
        default_roles: { token: ["operator"], keys: ["agent"], jwt: [], certificates: ["agent"], user: ["operator"] },
      },
      server: {
        host: "127.0.0.1",
        port: 8765,
        allowed_hosts: [],
        cors: { origins: [] },
        tls: { client_certificates: "optional" },
        keep_alive_seconds: 15,
      },
      transport: { type: "http", config: {} },
      handshake: { required: true },
      roles: {},
      quotas: { default: { budget: { per_day: {}, in_all: {} } }, roles: {}, principals: {} },
      telemetry: { metrics: false, traces: false },
      audit: {
        enabled: true,
        mode: "best_effort",
        path: join(data, "audit.jsonl"),
        max_bytes: 10_485_760,
        backup_count: 5,
        witnesses: [],
        session_id_source: "uuid",
      },
      plugins: defaultPlugins.map((type) => ({
        name: type,
        type,
        metadata: { enabled: true, isolation: "none" },
      })),
      persistence: { enabled: true, durability: "process", sync_interval_ms: 100 },
      recording: { enabled: false, path: join(data, "recordings"), max_files: 1000 },
      snapshot_store: { type: "sqlite", path: join(data, "snapshots.sqlite") },
      snapshot_schedule: { interval_seconds: 0, on_drain: true, keep: 3 },
      snapshot_mode: "hybrid",
      data_dir: data,
      workspace_dir: join(data, "workspace"),
      sandbox: {
        default: "auto",
        network: false,
        readable: [],
        docker_image: "node:20-bookworm",
        limits: {
          memory_bytes: 1_073_741_824,
          cpu_seconds: 600,
          processes: 128,
          file_bytes: 268_435_456,
          workspace_bytes: 10_737_418_240,
          scratch_bytes: 268_435_456,
          open_files: 1024,
        },
      },
      base_dir: baseDir,
    });
    expect(toLimits(global_limits)).toEqual(defaultLimits);
  });

  test("undefined, null and empty sections mean the same as an empty config", () => {
    expect(read(undefined)).toEqual(read({}));
    expect(read(null)).toEqual(read({}));
    expect(read({ server: null, audit: { path: null }, global_limits: undefined })).toEqual(read({}));
  });

  test("no plugins is a choice", () => {
    expect(read({ plugins: [] }).plugins).toEqual([]);
  });

  test("reading does not change the input", () => {
    const input = { server: { auth_token: "t" }, audit: { rotate: { max_bytes: 4096 } } };
    const before = structuredClone(input);
    read(input);
    expect(input).toEqual(before);
  });
});

describe("paths", () => {
  test("that are relative start at the base folder, and absolute paths stay", () => {
    const config = read({
      data_dir: "data",
      workspace_dir: "w",
      audit: { path: "/log/a.jsonl" },
      snapshot_store: { type: "file" },
    });
    expect(config.data_dir).toBe(join(baseDir, "data"));
    expect(config.workspace_dir).toBe(join(baseDir, "w"));
    expect(config.audit.path).toBe(resolve("/log/a.jsonl"));
    expect(config.snapshot_store).toEqual({ type: "file", path: join(baseDir, "data", "snapshots") });
  });

  test("a store in memory has no path", () => {
    expect(read({ snapshot_store: { type: "memory", path: "x" } }).snapshot_store).toEqual({ type: "memory" });
  });
});

describe("the token", () => {
  test.each([
    ["at the top", { auth_token: "one" }],
    ["under server", { server: { auth_token: "one" } }],
    ["in both places", { auth_token: "one", server: { auth_token: "one" } }],
  ])("is read %s", (_, input) => {
    const config = read(input);
    expect(config.auth_token).toBe("one");
    expect(config.server).not.toHaveProperty("auth_token");
  });

  test("is rejected if two settings differ, and the problem repeats neither", () => {
    const problems = problemsOf({ auth_token: "hunter2", server: { auth_token: "hunter3" } });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.path).toBe("server.auth_token");
    expect(JSON.stringify(problems)).not.toContain("hunter");
  });

  test("is read from the environment if the config does not set it", () => {
    const env = { A2E_AUTH_TOKEN: "from-environment" };
    expect(read({}, { env }).auth_token).toBe("from-environment");
    expect(read({ auth_token: "" }, { env }).auth_token).toBe("from-environment");
    expect(read({ auth_token: "from-config" }, { env }).auth_token).toBe("from-config");
  });

  test("is not a property of the config if it is not set", () => {
    expect(read({ auth_token: "" })).not.toHaveProperty("auth_token");
    expect(read({}, { env: { A2E_AUTH_TOKEN: "" } })).not.toHaveProperty("auth_token");
  });

  test("is not shown if it has the wrong type", () => {
    for (const secret of [48_151_623, ["48151623"], { is: "48151623" }, 48_151_623n]) {
      for (const input of [{ auth_token: secret }, { server: { auth_token: secret } }]) {
        const error = catchError(() => read(input));
        expect(error.message).toContain("auth_token: expected text");
        expect(error.message).not.toContain("48151623");
        expect(JSON.stringify(error.problems)).not.toContain("48151623");
      }
    }
  });
});

describe("the environment", () => {
  test("fills texts, also those of plugins, and numbers and switches", () => {
    const env = { NAME: "lab", PORT: "9001", ON: "false", KEY: "k" };
    const config = read(
      {
        host_id: "host-${NAME}-${PORT}",
        server: { port: "${PORT}" },
        audit: { enabled: "${ON}" },
        plugins: [{ type: "tools", metadata: { service: { keys: ["${KEY}"] } } }],
      },
      { env },
    );
    expect(config.host_id).toBe("host-lab-9001");
    expect(config.server.port).toBe(9001);
    expect(config.audit.enabled).toBe(false);
    expect(config.plugins[0]?.metadata).toMatchObject({ service: { keys: ["k"] } });
  });

  test("an unset or empty variable is a problem at its place", () => {
    expect(problemsOf({ plugins: [{ type: "tools", metadata: { key: "${MISSING_KEY}" } }] })).toEqual([
      { path: "plugins[0].metadata.key", message: "the environment variable MISSING_KEY is not set, or empty" },
    ]);
    expect(problemsOf({ auth_token: "${EMPTY}" }, { EMPTY: "" })[0]?.message).toContain("EMPTY is not set");
    expect(problemsOf({ host_id: "${toString}" })[0]?.message).toContain("toString is not set");
  });

  test("two dollars stand for one, and an invalid name is a problem", () => {
    expect(read({ host_id: "$${NAME} costs $5" }).host_id).toBe("${NAME} costs $5");
    expect(problemsOf({ host_id: "${NAME:-x}" })[0]?.message).toContain("must name an environment variable");
  });

  test("the value of a variable is never shown", () => {
    const env = { SECRET: "hunter2" };
    const problems = problemsOf({ server: { port: "${SECRET}" }, snapshot_mode: "${SECRET}" }, env);
    expect(problems.map(({ path }) => path)).toEqual(["server.port", "snapshot_mode"]);
    expect(JSON.stringify(problems)).not.toContain("hunter2");
  });
});

describe("other spellings", () => {
  test("of the documented config are understood", () => {
    const config = read({
      host_id: "a2e-dev",
      server: { host: "0.0.0.0", port: "8765" },
      auth_token: "dev-secret",
      transport: { type: "subprocess", config: { base_url: "http://localhost:8765", send_path: "/send" } },
      audit: { enabled: true, path: "/tmp/audit.jsonl", rotate: { max_bytes: 2048, backup_count: 2 } },
      snapshot_store: { type: "file", config: { root: "/tmp/snapshots" } },
      global_limits: { max_workers: 8 },
      plugins: [{ name: "files", type: "skills", cls: "x.Y", metadata: { priority: 3, ROOT: "/tmp" } }],
    });
    expect(config.audit).toMatchObject({ max_bytes: 2048, backup_count: 2 });
    expect(config.snapshot_store.path).toBe(resolve("/tmp/snapshots"));
    expect(config.global_limits.max_parallel_calls).toBe(8);
    expect(config.transport.type).toBe("stdio");
    expect(config.plugins[0]).toMatchObject({ type: "skill", metadata: { priority: 3, ROOT: "/tmp", enabled: true } });
  });

  test("of the audit file are understood", () => {
    expect(read({ audit_log_path: "/l" }).audit.path).toBe(resolve("/l"));
    expect(read({ audit: { file: "/l" } }).audit.path).toBe(resolve("/l"));
  });

  test("that contradict each other are a problem that names both", () => {
    const [problem] = problemsOf({ global_limits: { max_workers: 8, max_parallel: 9 } });
    expect(problem).toMatchObject({ path: "global_limits.max_workers" });
    expect(problem?.message).toContain("global_limits.max_parallel");
  });

  test("are reported at their own path", () => {
    expect(problemsOf({ audit: { rotate: { max_bytes: "much" } } })).toEqual([
      { path: "audit.rotate.max_bytes", message: 'expected a number, found "much"' },
    ]);
    expect(problemsOf({ audit: { rotate: 5 } })).toEqual([{ path: "audit.rotate", message: "expected a mapping" }]);
  });
});

describe("a typo", () => {
  test.each([
    [{ hostid: "x" }, "hostid", "host_id"],
    [{ Server: {} }, "Server", "server"],
    [{ plugin: [] }, "plugin", "plugins"],
    [{ server: { prot: 1 } }, "server.prot", "port"],
    [{ server: { cors: { origin: [] } } }, "server.cors.origin", "origins"],
    [{ transport: { typ: "http" } }, "transport.typ", "type"],
    [{ handshake: { require: true } }, "handshake.require", "required"],
    [{ audit: { maxBytes: 1 } }, "audit.maxBytes", "max_bytes"],
    [{ audit: { rotate: { max_byte: 1 } } }, "audit.rotate.max_byte", "max_bytes"],
    [{ snapshot_store: { pth: "x" } }, "snapshot_store.pth", "path"],
    [{ snapshot_store: { config: { rooot: "x" } } }, "snapshot_store.config.rooot", "root"],
    [{ global_limits: { max_sesions: 1 } }, "global_limits.max_sesions", "max_sessions"],
    [{ plugins: [{ type: "tools", nmae: "x" }] }, "plugins[0].nmae", "name"],
    [{ plugins: [{ type: "tools", meta_data: {} }] }, "plugins[0].meta_data", "metadata"],
    [{ port: 1 }, "port", "server.port"],
    [{ server: { data_dir: "x" } }, "server.data_dir", "data_dir"],
    [{ plugins: [{ type: "tools", enabled: false }] }, "plugins[0].enabled", "metadata.enabled"],
    [{ plugins: [{ type: "proc", allowed_commands: [] }] }, "plugins[0].allowed_commands", "metadata.allowed_commands"],
  ])("in %j at %s suggests %s", (input, path, suggestion) => {
    expect(problemsOf(input)).toEqual([{ path, message: "unknown key", suggestion }]);
  });

  test.each([
    [{ snapshot_mode: "hybrd" }, "snapshot_mode", "hybrid"],
    [{ snapshot_store: { type: "SQLite" } }, "snapshot_store.type", "sqlite"],
    [{ transport: { type: "htpp" } }, "transport.type", "http"],
    [{ audit: { session_id_source: "hostid" } }, "audit.session_id_source", "host_id"],
    [{ plugins: [{ type: "tools", metadata: { isolation: "wroker" } }] }, "plugins[0].metadata.isolation", "worker"],
  ])("in a value of %j at %s suggests %s", (input, path, suggestion) => {
    expect(problemsOf(input)).toMatchObject([{ path, suggestion }]);
  });

  test("without a similar key gets no suggestion", () => {
    expect(problemsOf({ wholly: 1 })).toEqual([{ path: "wholly", message: "unknown key" }]);
    expect(problemsOf(JSON.parse('{"__proto__": {"a": 1}}'))).toEqual([{ path: "__proto__", message: "unknown key" }]);
  });
});

describe("a wrong value", () => {
  test.each([
    [[], "", 'expected settings such as "host_id: my-host", found a list'],
    ["text", "", 'expected settings such as "host_id: my-host", found a single value'],
    [{ server: "x" }, "server", 'expected a mapping, found "x"'],
    [{ server: { port: 70_000 } }, "server.port", "expected at most 65535, found 70000"],
    [{ server: { port: 80.5 } }, "server.port", "expected a whole number, found 80.5"],
    [{ server: { port: Number.NaN } }, "server.port", "expected a number, found NaN"],
    [{ server: { host: "" } }, "server.host", 'expected text that is not empty, found ""'],
    [{ audit: { enabled: "yes" } }, "audit.enabled", 'expected true or false, found "yes"'],
    [{ plugins: {} }, "plugins", "expected a list, found a mapping"],
    [{ plugins: ["tools"] }, "plugins[0]", 'expected a mapping, found "tools"'],
    [{ plugins: [null] }, "plugins[0]", "is missing: expected a mapping"],
    [{ transport: { config: 5 } }, "transport.config", "expected an object, found 5"],
    [{ global_limits: { max_depth: 251 } }, "global_limits.max_depth", "expected at most 250, found 251"],
    [
      { global_limits: { max_line_bytes: 2 ** 32 } },
      "global_limits.max_line_bytes",
      "expected at most 268435456, found 4294967296",
    ],
    [{ global_limits: { max_sessions: 0 } }, "global_limits.max_sessions", "expected at least 1, found 0"],
    [
      { global_limits: { drain_ms: 2 ** 31 } },
      "global_limits.drain_ms",
      "expected at most 2147483647, found 2147483648",
    ],
  ])("%j is reported at %s", (input, path, message) => {
    expect(problemsOf(input)).toEqual([{ path, message }]);
  });

  test("a plugin needs a type, and a name that leads nowhere", () => {
    expect(problemsOf({ plugins: [{ name: "x" }] })[0]).toMatchObject({ path: "plugins[0].type" });
    for (const name of ["../x", "a/b", "a\\b", "..", ".hidden", "", "a\nb"]) {
      expect(problemsOf({ plugins: [{ type: "tools", name }] })[0]).toMatchObject({ path: "plugins[0].name" });
    }
  });

  test("two plugins of the same name are refused, also if the name is the type", () => {
    expect(problemsOf({ plugins: [{ type: "tools" }, { type: "env", name: "tools" }, { type: "tool" }] })).toEqual([
      { path: "plugins[1].name", message: 'another plugin has the name "tools" already' },
      { path: "plugins[2]", message: 'another plugin has the name "tools" already' },
    ]);
  });

  test("an origin has no path", () => {
    expect(read({ server: { cors: { origins: ["*", "http://localhost:3000"] } } }).server.cors.origins).toHaveLength(2);
    expect(problemsOf({ server: { cors: { origins: ["http://localhost:3000/"] } } })[0]?.path).toBe(
      "server.cors.origins[0]",
    );
  });

  test("all problems are reported at once, each on its line", () => {
    const error = catchError(() => read({ prot: 1, snapshot_mode: "hots" }, { source: "a2e.yaml" }));
    expect(error.message.split("\n")).toEqual([
      "a2e.yaml has 2 problems:",
      expect.stringContaining("prot: unknown key"),
      '  snapshot_mode: expected one of host, plugin, hybrid, found "hots"; did you mean "host"?',
    ]);
  });

  test("a plugin's own settings may be any JSON, but only JSON", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    const metadata = { own: { deep: [1, null, "x"] }, enabled: false };
    expect(read({ plugins: [{ type: "tools", metadata }] }).plugins[0]?.metadata).toMatchObject(metadata);
    expect(problemsOf({ plugins: [{ type: "tools", metadata: { cyclic } }] })).toMatchObject([
      { path: "plugins[0].metadata.cyclic" },
    ]);
  });
});

test("no input whatsoever throws anything but a ConfigError", () => {
  const sectionNames = fc.constantFrom(
    "server",
    "audit",
    "plugins",
    "global_limits",
    "snapshot_store",
    "transport",
    "auth_token",
  );
  const nearMisses = fc.dictionary(sectionNames, fc.anything());
  fc.assert(
    fc.property(
      fc.oneof(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }), nearMisses),
      (input) => {
        try {
          read(input);
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

function catchError(run: () => unknown): ConfigError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("no error was thrown");
}
