// The limits of the toolkits capability with their defaults. An option of the plugin overrides the limit of the same
// name.

export const toolkitLimits = {
  /** Toolkits that one session may have installed. */
  maxInstalled: 32,
  /** The largest config, as JSON. */
  maxConfigBytes: 64 * 1024,
  /** Secrets in one config. */
  maxSecrets: 256,
  /** Time that a toolkit may take to start. */
  startTimeoutMs: 15_000,
  /** Time after which a toolkit of the operator that could not start is tried again. */
  sharedRetryMs: 30_000,
  /** Shorter secrets are not searched for in the output of tools: they would match parts of ordinary words. */
  minScrubbedLength: 4,
  /** Bytes that the filesystem toolkit reads at once. */
  maxReadBytes: 512 * 1024,
  /** Bytes that the filesystem toolkit writes at once. */
  maxWriteBytes: 4 * 1024 * 1024,
  /** Entries of a folder that the filesystem toolkit lists. */
  maxEntries: 2000,
  /** Bytes of a response body that the http toolkit returns. */
  httpMaxBytes: 512 * 1024,
  /** Bytes of a request body that the http toolkit sends. */
  httpMaxRequestBytes: 1024 * 1024,
  /** Time of one request, redirects included. */
  httpTimeoutMs: 20_000,
  /** Redirects below its base URL that the http toolkit follows. */
  httpMaxRedirects: 5,
  /** Rows that one query of the sqlite toolkit returns. */
  sqliteMaxRows: 1000,
  /** Tables, views, indexes and triggers that the sqlite toolkit lists. */
  sqliteMaxObjects: 10_000,
  /** Bytes of the rows of one query, as JSON. */
  sqliteMaxBytes: 512 * 1024,
  /** Time of one query. */
  sqliteTimeoutMs: 10_000,
  /** Memory of one query. */
  sqliteMemoryMb: 64,
  /** The longest SQL text of a query. */
  sqliteMaxSqlLength: 100_000,
  /** Processes for queries, and so queries that run at the same time. */
  sqliteProcesses: 2,
  /** Time that such a process may take to start. */
  sqliteStartMs: 20_000,
  /** Queries of one session that may wait for a process. */
  sqliteMaxQueued: 64,
  /** A process without a query for this long is ended. */
  sqliteIdleMs: 15_000,
} as const satisfies Record<string, number>;
