// The limits of the env capability with their defaults. An option of the plugin overrides the limit of the same name.

export const envLimits = {
  /** Episodes that one session may have at once. A new episode replaces a completed one first. */
  maxEpisodes: 1024,
  /** Steps after which an episode is truncated, even if its environment allows more. */
  maxSteps: 1_000_000,
  /** Steps of one batch. */
  maxBatch: 4096,
  /** Actions that one `env/what_if` tries. */
  maxWhatIf: 256,
  /** Experiences stored per session; the oldest are dropped first. */
  maxExperiences: 10_000,
  /** Rewards reported by the agent that are stored per session; the oldest are dropped first. */
  maxFeedback: 10_000,
  /** Bytes of experiences in one answer. */
  maxAnswerBytes: 4 * 1024 * 1024,
  /** Bytes of the options of a reset, which are saved with the episode. */
  maxOptionsBytes: 64 * 1024,
  /** Items of one request that run at the same time if the environment is asynchronous. */
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
  /** Bytes of content in one answer of `env/data/get`, even if the agent asks for more. */
  maxContentBytes: 4 * 1024 * 1024,
  /** Staged data that no session has touched for this long is removed. */
  dataKeptMs: 7 * 24 * 60 * 60_000,
  /** Time between two searches for such data. */
  dataCollectIntervalMs: 60 * 60_000,
} as const satisfies Record<string, number>;
