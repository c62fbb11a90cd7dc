// The limits of the env capability with their defaults; the plugin's options override those that they name.

export const envLimits = {
  /** Episodes of one session at once. Completed ones make room first. */
  maxEpisodes: 1024,
  /** Steps after which an episode is truncated, whatever its environment allows. */
  maxSteps: 1_000_000,
  /** Steps of one batch. */
  maxBatch: 4096,
  /** Actions that one `env/what_if` tries. */
  maxWhatIf: 256,
  /** Experiences kept per session; the oldest go first. */
  maxExperiences: 10_000,
  /** Rewards that an agent reported, kept per session; the oldest go first. */
  maxFeedback: 10_000,
  /** Bytes of experiences in one answer. */
  maxAnswerBytes: 4 * 1024 * 1024,
  /** Bytes of the options of a reset, which are kept with the episode. */
  maxOptionsBytes: 64 * 1024,
  /** Items of one request that an environment which answers later works on at once. */
  maxConcurrentItems: 32,
  /** Events that an isolated environment may push in one call. */
  maxPushesPerCall: 1000,
  /** Time of one call of an isolated environment. */
  workerTimeoutMs: 10_000,
  /** Memory of one worker thread. */
  workerMemoryMb: 256,
  /** Time that an isolated module may take to load and describe its environments. */
  moduleLoadTimeoutMs: 30_000,
  /** Bytes that one session may stage in `env/data`. */
  maxDataBytes: 256 * 1024 * 1024,
  /** Files that one session may stage in `env/data`. */
  maxDataFiles: 10_000,
  /** Data roots of one session. */
  maxDataRoots: 64,
  /** Items in one answer of `env/data/get`. */
  maxDataItems: 1000,
  /** Bytes of content in one answer of `env/data/get`, whatever an agent asks for. */
  maxContentBytes: 4 * 1024 * 1024,
  /** Staged data that no session has touched for this long is removed. */
  dataKeptMs: 7 * 24 * 60 * 60_000,
  /** How often the host looks for such data. */
  dataCollectIntervalMs: 60 * 60_000,
} as const satisfies Record<string, number>;
