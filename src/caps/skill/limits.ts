// The limits of the skill capability with their defaults; the plugin's options override those that they name.

export const skillLimits = {
  maxNameLength: 64,
  maxDescriptionLength: 1024,
  /** Largest SKILL.md. */
  maxManifestBytes: 256 * 1024,
  /** Longest front matter of one: it is parsed as YAML before anything is known of it. */
  maxFrontMatterLength: 32 * 1024,
  /** Items of a list in front matter. */
  maxListItems: 200,
  /** Folders looked at in one root. */
  maxSkillsPerRoot: 2000,
  /** Versions of one skill in one root. */
  maxVersions: 100,
  /** Folders watched for changes; those beyond are noticed when they are used. */
  maxWatchedFolders: 4000,
  /** Files of one skill. */
  maxFiles: 2000,
  /** How often a call reads a folder that changes while it is read. */
  maxReads: 5,
  /** Bytes of all files of a skill whose script runs as a process: they are copied. */
  maxFolderBytes: 64 * 1024 * 1024,
  maxFolderDepth: 16,
  /** Longest instructions with their arguments filled in: a long argument may stand in them a thousand times. */
  maxInstructionsLength: 1024 * 1024,
  /** Bytes of content in one answer of `skill/read`, whatever an agent asks for. */
  maxReadBytes: 512 * 1024,
  /** Largest script that runs in the JavaScript sandbox. */
  maxScriptBytes: 512 * 1024,
  /** Bytes that one run may print. */
  maxOutputBytes: 16 * 1024 * 1024,
  /** Longest line of a script, and so its largest result. */
  maxLineBytes: 1024 * 1024,
  /** Deepest nesting of what a script says: it becomes part of a message of the host, which has a limit too. */
  maxMessageDepth: 48,
  /** End of what a script prints to stderr, kept for the error. */
  maxStderrLength: 4096,
  /** Events of one call that are kept for its result; later ones are streamed only. */
  maxCollectedEvents: 1000,
  maxCollectedEventBytes: 256 * 1024,
  /** Characters of a line that is no message, as an event. */
  maxLogLineLength: 2000,
  /** Scripts of one host that run at once; beyond it `rate_limited`. */
  maxRunning: 16,
  /** Completions that one call may ask for. */
  maxLlmCalls: 50,
  /** Bytes of answers that a script has asked for and not read. */
  maxUnreadAnswerBytes: 4 * 1024 * 1024,
  /** Time of a call that names none, and whose skill names none. */
  timeoutSeconds: 60,
  memoryMb: 256,
  /** Time for checking a value against a schema that may be costly on purpose. */
  schemaCheckMs: 2000,
} as const satisfies Record<string, number>;
