// The limits of the tools capability with their defaults; the plugin's options override those that they name.

export const toolLimits = {
  /** Bytes of the data of one result. Longer text is cut; other data is a `tool_error` that asks for less. */
  maxResultBytes: 1024 * 1024,
  /** Events kept for the result of a call that does not stream; further events are counted only. */
  maxCollectedEvents: 1000,
  /** Bytes of these events. */
  maxCollectedEventBytes: 256 * 1024,
  /** Bytes of text that read_file returns at once. */
  maxReadBytes: 512 * 1024,
  /** Entries that list_dir, glob and grep return. */
  maxEntries: 10_000,
  /** Entries that a walk through folders visits. */
  maxVisitedEntries: 200_000,
  /** Deepest folder that a walk enters. */
  maxFolderDepth: 64,
  /** Files larger than this are not searched by grep. */
  maxSearchedFileBytes: 4 * 1024 * 1024,
  /** Characters of one line that grep shows. */
  maxShownLineLength: 500,
  /** Bytes that grep and glob return; the rest is left out and reported as truncated. */
  maxSearchBytes: 512 * 1024,
  /** Time for one grep or glob, also with a slow pattern. */
  searchTimeoutMs: 10_000,
  /** Bytes of the body that http_get returns. */
  httpMaxBytes: 512 * 1024,
  /** Time for one http_get, including redirects. */
  httpTimeoutMs: 20_000,
  /** Redirects that http_get follows. */
  httpMaxRedirects: 5,
  /** Memory of one js_eval. */
  jsMemoryMb: 64,
  /** Time for one js_eval. */
  jsTimeoutMs: 5_000,
  /** Lines that js_eval captures from console. */
  jsMaxLogLines: 1000,
  /** Time for an isolated module to load and describe its tools. */
  moduleLoadTimeoutMs: 30_000,
  /** Time for one call of an isolated tool without a timeout of its own, if the call's timeout is not shorter. */
  isolatedTimeoutMs: 300_000,
} as const satisfies Record<string, number>;
