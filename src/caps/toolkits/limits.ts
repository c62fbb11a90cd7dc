// The limits of the toolkits capability with their defaults; the plugin's options override those that they name.

export const toolkitLimits = {
  /** Toolkits that one session has installed. */
  maxInstalled: 32,
  /** Largest config, as JSON. */
  maxConfigBytes: 64 * 1024,
  /** Secrets in one config. */
  maxSecrets: 256,
  /** Time that a toolkit may take to start. */
  startTimeoutMs: 15_000,
  /** After this a toolkit of the operator's that could not start is tried again. */
  sharedRetryMs: 30_000,
  /** Secrets shorter than this are not searched for in what tools return: they would be found in every other word. */
  minScrubbedLength: 4,
  /** Text that the filesystem toolkit reads at once. */
  maxReadBytes: 512 * 1024,
  /** Text that it writes at once. */
  maxWriteBytes: 4 * 1024 * 1024,
  /** Entries of a folder that it lists. */
  maxEntries: 2000,
  /** Body that the http toolkit returns. */
  httpMaxBytes: 512 * 1024,
  /** Body that it sends. */
  httpMaxRequestBytes: 1024 * 1024,
  /** Time of one request, redirects included. */
  httpTimeoutMs: 20_000,
  /** Redirects that it follows below its base URL. */
  httpMaxRedirects: 5,
  /** Rows that one query of the sqlite toolkit returns. */
  sqliteMaxRows: 1000,
  /** Tables, views, indexes and triggers that it lists. */
  sqliteMaxObjects: 10_000,
  /** Bytes of such rows, as JSON. */
  sqliteMaxBytes: 512 * 1024,
  /** Time of one query. */
  sqliteTimeoutMs: 10_000,
  /** Memory of one query. */
  sqliteMemoryMb: 64,
  /** Longest text of a query. */
  sqliteMaxSqlLength: 100_000,
  /** Processes for queries, and so queries at once. */
  sqliteProcesses: 2,
  /** Time that such a process may take to be there. */
  sqliteStartMs: 20_000,
  /** Queries of one session that wait for a process. */
  sqliteMaxQueued: 64,
  /** A process without a query for this long is ended. */
  sqliteIdleMs: 15_000,
} as const satisfies Record<string, number>;
