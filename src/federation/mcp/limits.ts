/** What an MCP client can make the host do beside what `Limits` of the host bound already. */
export const mcpLimits = {
  /** Tools, prompts or templates in one page of a list. Many clients read only the first. */
  maxListed: 500,
  /** Files in one page of the resources. */
  maxListedFiles: 200,
  /** The largest file that is handed out as a resource: it is in memory as a whole, three times. */
  maxResourceBytes: 8 * 1024 * 1024,
  /** Values in the answer to one completion; the number that MCP sets. */
  maxCompletions: 100,
  /** Calls of one session that wait until their client comes back with an answer. */
  maxParkedCalls: 16,
  /** How long such a call is kept for a client that does not come back. */
  parkedCallMs: 10 * 60_000,
  /** How long a client that has ended its input gets answers. Most kill what does not end within two seconds. */
  lastAnswersMs: 1_000,
  /** How long servers behind the host may take to list what they have; what is not there by then is not listed. */
  bridgedListMs: 5_000,
  /** How long they may take to begin to watch a resource; what is not watched by then is not promised. */
  bridgedWatchMs: 2_000,
  /** Messages kept per session for a client whose stream was cut. */
  maxReplayedEvents: 1_000,
  /** Bytes of them. */
  maxReplayedBytes: 4 * 1024 * 1024,
} as const satisfies Record<string, number>;
