/** Limits for MCP clients, in addition to the `Limits` of the host. */
export const mcpLimits = {
  /** Tools, prompts or templates in one page of a list. Many clients read only the first page. */
  maxListed: 500,
  /** Files in one page of the resources. */
  maxListedFiles: 200,
  /** The largest file that can be read as a resource: the whole file is in memory three times. */
  maxResourceBytes: 8 * 1024 * 1024,
  /** Values in the answer to one completion; set by MCP. */
  maxCompletions: 100,
  /** Calls of one session that wait for their client to repeat its request with answers. */
  maxParkedCalls: 16,
  /** How long such a call waits for its client. */
  parkedCallMs: 10 * 60_000,
  /**
   * How long a client that has closed its input still gets answers. Most clients kill a process that does not exit
   * within two seconds.
   */
  lastAnswersMs: 1_000,
  /** How long servers behind the host may take to list their resources and prompts; the rest is left out. */
  bridgedListMs: 5_000,
  /** How long servers behind the host may take to confirm a subscription; the rest is left out of the confirmation. */
  bridgedWatchMs: 2_000,
  /** Messages kept per session for a client whose stream is down. */
  maxReplayedEvents: 1_000,
  /** Total bytes of these messages. */
  maxReplayedBytes: 4 * 1024 * 1024,
} as const satisfies Record<string, number>;
