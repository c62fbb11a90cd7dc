// All settings of a host. The commented config of `a2e init`, the reference page and every error message come from this
// schema, so each field has a description for users.
import { z } from "zod";
import { canonicalCapability } from "../protocol/dialects.ts";
import { jsonObject } from "../protocol/json.ts";
import { auth } from "./auth.ts";
import { globalLimits } from "./limits.ts";
import { quotas } from "./quotas.ts";
import { roles } from "./roles.ts";
import { sandboxConfig } from "./sandbox.ts";

const text = z.string().min(1);

const origin = z.string().refine((value) => value === "*" || (URL.canParse(value) && new URL(value).origin === value), {
  error: 'expected "*" or an origin such as "http://localhost:3000", with no path and no slash at the end',
});

/** As the Host header names it, without its port. */
const hostName = z
  .string()
  .regex(/^[\w.-]+$/, { error: 'expected a name such as "agents.example.com", without scheme and port' })
  .overwrite((name) => name.toLowerCase());

const tls = z
  .strictObject({
    cert: text
      .optional()
      .describe("File with the certificate of this host in PEM format, followed by its intermediates."),
    key: text.optional().describe("File with the private key of the certificate in PEM format, without a passphrase."),
    client_ca: text
      .optional()
      .describe("File with the certificates, in PEM format, that issue the certificates of agents."),
    client_certificates: z
      .enum(["optional", "required"])
      .default("optional")
      .describe("Whether an agent must connect with a certificate. Needs client_ca."),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
    error: "cert and key belong together: set both, or neither",
  })
  .refine(({ cert, client_ca }) => cert !== undefined || client_ca === undefined, {
    error: "client_ca needs a certificate of this host: set cert and key",
  })
  .refine(({ client_ca, client_certificates }) => client_ca !== undefined || client_certificates === "optional", {
    error: "client_certificates: required needs client_ca, the certificates that issue those of agents",
  });

const server = z.strictObject({
  host: text
    .default("127.0.0.1")
    .describe("Address to listen on. An address that other machines can reach needs an auth_token."),
  port: z.int().min(0).max(65_535).default(8765).describe("Port to listen on; 0 takes any free port."),
  allowed_hosts: z
    .array(hostName)
    .default([])
    .describe(
      "Names by which a reverse proxy on this machine lets others reach this host. Needs an auth_token. Requests to other names are refused if the host listens on a loopback address.",
    ),
  public_url: z
    .string()
    .refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && !/[?#]/.test(value), {
      error: 'expected an address such as "https://agents.example.com", without a query',
    })
    .optional()
    .describe(
      "Address by which clients reach this host, if it differs from the one it listens on. Pages of this origin may use the host, and OAuth tokens are issued for it.",
    ),
  cors: z
    .strictObject({
      origins: z
        .array(origin)
        .default([])
        .describe(
          'Origins whose pages may call this host from a browser, such as "http://localhost:3000"; "*" allows all. Every page needs it that the host does not serve itself, also one of another port of this machine.',
        ),
    })
    .prefault({})
    .describe("Which web pages may call this host."),
  tls: tls
    .prefault({})
    .describe(
      "Serves HTTPS and WSS instead of HTTP and WS, if cert is set. Changed files are used within a minute, without a restart.",
    ),
  keep_alive_seconds: z
    .number()
    .min(1)
    .max(3600)
    .default(15)
    .describe("A quiet stream gets a comment this often, so that proxies do not cut it."),
});

const transport = z.strictObject({
  type: z
    .enum(["http", "direct", "stdio", "subprocess"])
    .overwrite((type) => (type === "subprocess" ? "stdio" : type))
    .default("http")
    .describe('How agents reach this host. "subprocess" is another name of "stdio". `a2e stdio` always uses stdio.'),
  config: jsonObject
    .default({})
    .describe("Accepted for configs that share this section with an agent; the host ignores it."),
});

const audit = z.strictObject({
  enabled: z.boolean().default(true).describe("Writes a JSON line per handled message."),
  mode: z
    .enum(["best_effort", "proven"])
    .default("best_effort")
    .describe(
      '"best_effort" writes a file and never delays a call. "proven" writes the entries of a turn together with its answers, into a signed log in the folder audit of the data folder; it needs persistence, and a turn that cannot be audited is lost.',
    ),
  path: text.optional().describe("The file to write. Without it: audit.jsonl in the data folder."),
  max_bytes: z
    .int()
    .min(1024)
    .default(10 * 1024 * 1024)
    .describe("A file that would grow beyond this is renamed and a new file is started."),
  backup_count: z.int().min(0).max(1000).default(5).describe("How many files set aside are kept."),
  keep_entries: z
    .int()
    .min(256)
    .optional()
    .describe(
      "With mode proven: how many of the newest entries are kept. An entry has the lines of one turn. Without it: all.",
    ),
  keep_days: z
    .number()
    .min(1)
    .optional()
    .describe("With mode proven: entries that are older are deleted. Without it: none."),
  witnesses: z
    .array(z.url({ protocol: /^https?$/, error: "expected the URL of a witness, such as https://witness.example/" }))
    .default([])
    .describe("With mode proven: witnesses (c2sp.org/tlog-witness) that get each checkpoint to cosign."),
  session_id_source: z
    .enum(["uuid", "host_id"])
    .default("uuid")
    .describe(
      "The session_id in the log: a handle of the session, which is not its secret id, or the id of this host.",
    ),
});

const telemetry = z.strictObject({
  metrics: z
    .boolean()
    .default(false)
    .describe("Counts and measures calls, and serves the metrics as Prometheus text at /metrics, for operators."),
  traces: z
    .boolean()
    .default(false)
    .describe(
      "Makes an OpenTelemetry span of each call. Needs the package @opentelemetry/api, and an SDK that your program sets up.",
    ),
});

/** A name becomes part of a folder's path, so it must not be able to lead out of it. */
const pluginName = z.string().regex(/^[A-Za-z0-9_][\w.@ -]{0,99}$/, {
  error: "expected a name of letters, digits, spaces and . _ @ - that begins with a letter or digit",
});

const pluginMetadata = z.looseObject({
  enabled: z.boolean().default(true).describe("False leaves the plugin out without loading it."),
  priority: z
    .number()
    .optional()
    .describe("Plugins with a higher priority are asked first. Without it: the plugin's own priority, else 0."),
  exclusive: z
    .boolean()
    .optional()
    .describe("True makes it the sole plugin of its capability. Without it: the plugin's own setting."),
  isolation: z
    .enum(["none", "worker"])
    .default("none")
    .describe("Whether the plugin runs in the host's thread or in a thread of its own."),
});

const plugin = z.strictObject({
  type: text.overwrite(canonicalCapability).describe("The capability it serves, in any of its spellings."),
  name: pluginName.optional().describe("Its name, once per host. Without it: the type."),
  cls: text
    .optional()
    .describe(
      'What to load, as "module#Export": a package, or a path relative to this file. Without it: the built-in plugin of the type.',
    ),
  metadata: pluginMetadata.prefault({}).describe("Settings of the plugin; other keys than these are the plugin's own."),
});

const persistence = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe("Persists every session continuously: after a crash or a restart agents resume their sessions."),
  durability: z
    .enum(["process", "power"])
    .default("process")
    .describe(
      'What an answer survives: "process" a killed host, and a power cut only sync_interval_ms later; "power" both, since it waits for the disk.',
    ),
  sync_interval_ms: z
    .int()
    .min(1)
    .max(60_000)
    .default(100)
    .describe('With durability "process": how long what was written waits until it is put on the disk.'),
});

const recording = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe("Records every session, so that it can be replayed. Costs speed and disk space; for finding faults."),
  path: text
    .optional()
    .describe("Folder of the recordings, one file per session. Without it: recordings in the data folder."),
  max_files: z.int().min(1).default(1000).describe("How many are kept; the oldest are removed."),
});

const snapshotStore = z.strictObject({
  type: z
    .enum(["sqlite", "file", "memory"])
    .default("sqlite")
    .describe('Where session snapshots are kept. "memory" forgets them when the host stops.'),
  path: text
    .optional()
    .describe(
      "The database, or the folder of a file store. Without it: snapshots.sqlite or snapshots in the data folder.",
    ),
});

const snapshotSchedule = z.strictObject({
  interval_seconds: z
    .number()
    .min(0)
    .max(7 * 24 * 3600)
    .default(0)
    .describe("The longest time that a session in use is without a new snapshot; 0 turns automatic snapshots off."),
  on_drain: z.boolean().default(true).describe("Saves every session when the host is shut down in peace."),
  keep: z
    .int()
    .min(1)
    .default(3)
    .describe('How many of these are kept of a session; their labels begin with "auto:". Those of agents all stay.'),
});

/** Every capability of the product: by default none of them does anything dangerous. */
export const defaultPlugins = ["tools", "memory", "env", "planning", "proc", "skill", "toolkits", "chains", "mcp"];

export const hostConfig = z.strictObject({
  host_id: text.default("a2e-host").describe("Name of this host, in logs and in the audit log."),
  auth_token: z
    .string()
    .optional()
    .describe(
      `Secret that agents must present. Also read from the environment variable A2E_AUTH_TOKEN if the config does not set it. Do not write the secret itself here: use \${NAME}.`,
    ),
  auth: auth
    .prefault({})
    .describe("Further credentials that agents may present. A host that accepts any refuses agents without one."),
  server: server.prefault({}).describe("The HTTP door."),
  transport: transport.prefault({}).describe("How agents connect."),
  handshake: z
    .strictObject({
      required: z
        .boolean()
        .default(true)
        .describe(
          "False also serves messages that come before the handshake, and capabilities that were not negotiated.",
        ),
    })
    .prefault({})
    .describe("Requirements for the handshake of an agent."),
  roles: roles.describe(
    "Roles by name, beside the built-in roles operator, agent and observer. `a2e policy explain` shows what a role may do and why.",
  ),
  quotas: quotas
    .prefault({})
    .describe('Limits and budgets per principal. "unlimited" turns off a limit of a less specific section.'),
  audit: audit.prefault({}).describe("The audit log."),
  telemetry: telemetry.prefault({}).describe("Metrics and traces of calls. Each costs a little speed."),
  plugins: z
    .array(plugin)
    .default(() => defaultPlugins.map((type) => plugin.parse({ type })))
    .describe("The capabilities of this host. Without it: every built-in capability that needs no settings."),
  persistence: persistence.prefault({}).describe("How sessions outlive the process."),
  recording: recording.prefault({}).describe("Recordings of sessions for `a2e replay` and session/replay."),
  snapshot_store: snapshotStore.prefault({}).describe("Storage of session snapshots."),
  snapshot_schedule: snapshotSchedule.prefault({}).describe("Automatic snapshots of sessions."),
  snapshot_mode: z
    .enum(["host", "plugin", "hybrid"])
    .default("hybrid")
    .describe(
      'Who keeps the state of a session: "host" saves what plugins hand over, "plugin" leaves it to each plugin, "hybrid" saves it for those that hand it over.',
    ),
  data_dir: text.default(".a2e").describe("Folder for all data of this host; relative paths start at this file."),
  workspace_dir: text
    .optional()
    .describe("Folder that file tools are confined to. Without it: workspace in the data folder."),
  sandbox: sandboxConfig.prefault({}).describe("How untrusted programs are confined."),
  global_limits: globalLimits.prefault({}).describe("Limits of this host. Sizes in bytes; *_ms in milliseconds."),
});

/** The config as a user writes it: everything is optional. */
export type A2EHostConfigInput = z.input<typeof hostConfig>;

type ParsedConfig = z.output<typeof hostConfig>;
type NamedPluginEntry = ParsedConfig["plugins"][number] & { name: string };

/** The config that a host runs with: defaults are filled in and every path is absolute. */
export interface A2EHostConfig
  extends Omit<ParsedConfig, "audit" | "plugins" | "recording" | "snapshot_store" | "workspace_dir"> {
  audit: ParsedConfig["audit"] & { path: string };
  recording: ParsedConfig["recording"] & { path: string };
  plugins: NamedPluginEntry[];
  /** A store in memory has no path. */
  snapshot_store: ParsedConfig["snapshot_store"];
  workspace_dir: string;
  /**
   * The folder that relative paths and plugin modules start from: the folder of the config file, or the working
   * directory.
   */
  base_dir: string;
  /** The value of each `${NAME}` in the config. The values are never shown: a message has the name in their place. */
  variables?: Readonly<Record<string, string>>;
}
