// The limits of the skill capability with their defaults. An option of the plugin overrides the limit of the same name.

export const skillLimits = {
  maxNameLength: 64,
  maxDescriptionLength: 1024,
  /** The largest SKILL.md. */
  maxManifestBytes: 256 * 1024,
  /** The longest front matter of a SKILL.md: it is untrusted YAML. */
  maxFrontMatterLength: 32 * 1024,
  /** Items of a list in the front matter. */
  maxListItems: 200,
  /** Skill folders that are read in one root. */
  maxSkillsPerRoot: 2000,
  /** Versions of one skill in one root. */
  maxVersions: 100,
  /** Folders watched for changes; changes in further folders are noticed when a skill is used. */
  maxWatchedFolders: 4000,
  /** Files of one skill. */
  maxFiles: 2000,
  /** Attempts to read a folder that changes while it is read. */
  maxReads: 5,
  /** Bytes of all files of a skill whose script runs as a process: they are copied. */
  maxFolderBytes: 64 * 1024 * 1024,
  maxFolderDepth: 16,
  /** The longest instructions with their arguments filled in: a long argument may be used a thousand times. */
  maxInstructionsLength: 1024 * 1024,
  /** Bytes of content in one answer of `skill/read`, even if the agent asks for more. */
  maxReadBytes: 512 * 1024,
  /** The largest script that runs in the JavaScript sandbox. */
  maxScriptBytes: 512 * 1024,
  /** Bytes that one run may print. */
  maxOutputBytes: 16 * 1024 * 1024,
  /** The longest line that a script may print, and so its largest result. */
  maxLineBytes: 1024 * 1024,
  /**
   * The deepest nesting in messages of a script: they become part of messages of the host, whose depth is limited as
   * well.
   */
  maxMessageDepth: 48,
  /** The last characters of a script's stderr, which are added to an error. */
  maxStderrLength: 4096,
  /** Events of one call that are part of its result; later events are only streamed. */
  maxCollectedEvents: 1000,
  maxCollectedEventBytes: 256 * 1024,
  /** Characters of a printed line that is not a message and becomes a log event. */
  maxLogLineLength: 2000,
  /** Scripts of one host that run at the same time; further calls fail with `rate_limited`. */
  maxRunning: 16,
  /** Completions that one call may ask for. */
  maxLlmCalls: 50,
  /** Bytes of completions that a script has requested and not read. */
  maxUnreadAnswerBytes: 4 * 1024 * 1024,
  /** Timeout of a call if neither the call nor the skill gives one. */
  timeoutSeconds: 60,
  memoryMb: 256,
  /** Time for checking a value against a schema, which may be slow on purpose. */
  schemaCheckMs: 2000,
} as const satisfies Record<string, number>;
