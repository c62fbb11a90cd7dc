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
  /** Rewards an agent reported for one episode; the oldest go first. */
  maxFeedback: 100,
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
  /** Items in one answer of `env/data/get`. */
  maxDataItems: 1000,
  /** Bytes of content in one answer of `env/data/get`, whatever an agent asks for. */
  maxContentBytes: 4 * 1024 * 1024,
  /** Staged data that no session has touched for this long is removed when the host starts. */
  dataKeptMs: 7 * 24 * 60 * 60_000,
} as const satisfies Record<string, number>;
