// The limits of the mcp capability with their defaults; the plugin's options override those that they name.
import { messageLimits } from "./protocol.ts";

export const mcpLimits = {
  ...messageLimits,
  /** Characters of a tool's name in the catalogue: what the model providers take. */
  maxToolNameLength: 64,
  /** Tools taken from one server; later ones are left out and logged. */
  maxTools: 1000,
  /** Servers of agents whose tools are remembered for when they are opened again. */
  maxRememberedServers: 1000,
  /** Bytes of one tool's schema; a larger one is shown as any object. */
  maxSchemaBytes: 256 * 1024,
  /** Characters of a description, of instructions and of a text that a server gives as an error. */
  maxTextLength: 16 * 1024,
  /** Servers that one session registers. */
  maxRegisteredServers: 16,
  /** Subscriptions of one session. */
  maxSubscriptions: 256,
  /** One message of a server. A longer one ends the connection. */
  maxMessageBytes: 32 * 1024 * 1024,
  /** Messages taken from one server before others have their turn. */
  maxMessagesPerTurn: 64,
  /** Notifications taken from one server in a second; further ones are counted and dropped. */
  maxNotificationsPerSecond: 500,
  /** Lines on a server's output that are no message, in a row; then the connection ends. */
  maxUnreadableLines: 100,
  /** Lines of stderr that are kept. */
  maxStderrLines: 50,
  /** Characters kept of each. */
  maxStderrLineLength: 500,
  /** Lines of stderr that are logged in a second. */
  maxStderrLinesPerSecond: 20,
  /** Pages of a list that are counted. */
  maxCountedPages: 10,
  /** Questions of one server to the agent at a time. */
  maxAsks: 8,
  /** Time of a connection to be opened, initialised and asked for its tools. */
  connectTimeoutMs: 30_000,
  /** Time of the question whether a server speaks the stateless revision, where it does not answer at all. */
  probeTimeoutMs: 3_000,
  /** Time of one request to a server. */
  requestTimeoutMs: 300_000,
  /** How long a server may be silent before others are asked for what nobody in particular was asked for. */
  maxSilenceMs: 1_000,
  /** The longest that one that is being connected may take over its resources and prompts, before it is of use without. */
  resourcesTimeoutMs: 5_000,
  /** The longest that a timer can wait; a longer one would not wait at all. */
  maxTimerMs: 2 ** 31 - 1,
  /** Between two looks at a task whose server does not say how often to look. */
  taskPollIntervalMs: 1_000,
  /** The shortest and the longest between two looks, whatever the server says. */
  minTaskPollIntervalMs: 50,
  maxTaskPollIntervalMs: 60_000,
  /** How long a server may go on with a call that nobody waits for: as long, its questions may be about that one. */
  unansweredMs: 60_000,
  /** Between two pings. */
  pingIntervalMs: 30_000,
  pingTimeoutMs: 10_000,
  /** Pings in a row without an answer after which an idle server is started anew. */
  maxMissedPings: 3,
  /** How long the agent may take over a question of a server. */
  askTimeoutMs: 120_000,
  /** The first wait before a reconnection; each doubles the one before. */
  initialBackoffMs: 250,
  maxBackoffMs: 30_000,
  /** A connection that lasted this long starts with the first wait again. */
  stableAfterMs: 10_000,
  /** Between two times that the same change is told, or the same list asked for, so that a burst of them is one. */
  resyncDelayMs: 100,
  /** Time that a process has after its input was closed, and again after SIGTERM. */
  stopGraceMs: 1_000,
  /** Time that a server over a network has to take leave. */
  goodbyeMs: 500,
  /** How long a user may take to authorise. */
  authorizationTimeoutMs: 15 * 60_000,
} as const satisfies Record<string, number>;
