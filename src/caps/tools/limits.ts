// The limits of the tools capability with their defaults; the plugin's options override those that they name.

export const toolLimits = {
  /** Largest data of one result. Longer text is cut, anything else is a `tool_error` that asks for less. */
  maxResultBytes: 1024 * 1024,
  /** Events kept for the result of a call that does not stream; later ones are counted, not kept. */
  maxCollectedEvents: 1000,
  /** Bytes of such events. */
  maxCollectedEventBytes: 256 * 1024,
  /** Text that read_file returns at once. */
  maxReadBytes: 512 * 1024,
  /** Entries that list_dir, glob and grep return. */
  maxEntries: 10_000,
  /** Entries that a walk through folders looks at. */
  maxVisitedEntries: 200_000,
  /** Deepest folder that a walk enters. */
  maxFolderDepth: 64,
  /** Files larger than this are not searched by grep. */
  maxSearchedFileBytes: 4 * 1024 * 1024,
  /** Characters of one line that grep shows. */
  maxShownLineLength: 500,
  /** Bytes of what grep and glob return; what is beyond is left out, and said to be. */
  maxSearchBytes: 512 * 1024,
  /** Time that one grep or glob may take, bad patterns included. */
  searchTimeoutMs: 10_000,
  /** Body that http_get returns. */
  httpMaxBytes: 512 * 1024,
  /** Time that one http_get may take, redirects included. */
  httpTimeoutMs: 20_000,
  /** Redirects that http_get follows. */
  httpMaxRedirects: 5,
  /** Memory of one js_eval. */
  jsMemoryMb: 64,
  /** Time of one js_eval. */
  jsTimeoutMs: 5_000,
  /** Lines that js_eval captures from console. */
  jsMaxLogLines: 1000,
  /** Time that an isolated module may take to load and describe its tools. */
  moduleLoadTimeoutMs: 30_000,
  /** Time of one call of an isolated tool that names none itself, should the call's own timeout not come first. */
  isolatedTimeoutMs: 300_000,
} as const satisfies Record<string, number>;
