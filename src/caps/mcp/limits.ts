// The limits of the mcp capability with their defaults; the plugin's options override those that they name.
import { messageLimits } from "./protocol.ts";

export const mcpLimits = {
  ...messageLimits,
  /** Characters of a tool's name in the catalogue: the limit of the model providers. */
  maxToolNameLength: 64,
  /** Tools listed from one server; further tools are left out and logged. */
  maxTools: 1000,
  /** Servers of agents whose tools are remembered for the next time that they are opened. */
  maxRememberedServers: 1000,
  /** Bytes of one tool's schema; a larger schema is replaced by one that allows any object. */
  maxSchemaBytes: 256 * 1024,
  /** Characters of a description, of instructions and of an error text of a server. */
  maxTextLength: 16 * 1024,
  /** Servers that one session registers. */
  maxRegisteredServers: 16,
  /** Subscriptions of one session. */
  maxSubscriptions: 256,
  /** Bytes of one message of a server. A longer message ends the connection. */
  maxMessageBytes: 32 * 1024 * 1024,
  /** Messages handled from one server before other work gets its turn. */
  maxMessagesPerTurn: 64,
  /** Notifications accepted from one server per second; further ones are counted and dropped. */
  maxNotificationsPerSecond: 500,
  /** Consecutive lines of a server's output that are not messages; then the connection ends. */
  maxUnreadableLines: 100,
  /** Lines of a server's stderr that are kept. */
  maxStderrLines: 50,
  /** Characters kept of each line. */
  maxStderrLineLength: 500,
  /** Lines of stderr that are logged per second. */
  maxStderrLinesPerSecond: 20,
  /** Pages of a list that are read to count its items. */
  maxCountedPages: 10,
  /** Concurrent requests of one server to the agent. */
  maxAsks: 8,
  /** Time to open a connection, initialise it and list its tools. */
  connectTimeoutMs: 30_000,
  /** Time to wait for an answer to the probe for the stateless revision. */
  probeTimeoutMs: 3_000,
  /** Time of one request to a server. */
  requestTimeoutMs: 300_000,
  /** How long a server may be silent before other servers are asked too, if the agent named no server. */
  maxSilenceMs: 1_000,
  /** How long a new connection waits for lists of resources and prompts before the server is ready without them. */
  resourcesTimeoutMs: 5_000,
  /** The longest delay of a timer; setTimeout fires at once for a longer delay. */
  maxTimerMs: 2 ** 31 - 1,
  /** Between two polls of a task if its server does not set an interval. */
  taskPollIntervalMs: 1_000,
  /** Bounds of the interval between two polls, also if the server sets one. */
  minTaskPollIntervalMs: 50,
  maxTaskPollIntervalMs: 60_000,
  /**
   * How long a server may continue a call after its caller left; meanwhile its requests may still belong to that call.
   */
  unansweredMs: 60_000,
  /** Between two pings. */
  pingIntervalMs: 30_000,
  pingTimeoutMs: 10_000,
  /** Consecutive unanswered pings after which an idle server is restarted. */
  maxMissedPings: 3,
  /** How long the agent may take to answer a request of a server. */
  askTimeoutMs: 120_000,
  /** The delay before the first reconnection; each further delay is twice the last. */
  initialBackoffMs: 250,
  maxBackoffMs: 30_000,
  /** After a connection has lasted this long, the next reconnection starts with the first delay again. */
  stableAfterMs: 10_000,
  /**
   * Between two reports of the same change, and between two reads of the same list; repetitions in between are merged.
   */
  resyncDelayMs: 100,
  /** Time that a process gets to exit after its input was closed, and again after SIGTERM. */
  stopGraceMs: 1_000,
  /** Time that a remote server gets to end the connection cleanly. */
  goodbyeMs: 500,
  /** How long a user may take to authorise. */
  authorizationTimeoutMs: 15 * 60_000,
} as const satisfies Record<string, number>;
