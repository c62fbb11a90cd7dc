// A problem in a config, described for its author.

export interface ConfigProblem {
  /** The path in the config, as in `plugins[0].metadata.enabled`; empty for the config as a whole. */
  readonly path: string;
  /** The expected and the actual value. Never repeats a secret. */
  readonly message: string;
  /** The valid key or value that was probably meant. */
  readonly suggestion?: string;
  readonly line?: number;
  readonly column?: number;
}

export type ConfigPath = readonly (string | number)[];

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly ConfigProblem[];
  /** The file or other source of the config. */
  readonly source: string;

  constructor(problems: readonly ConfigProblem[], source = "config", options?: ErrorOptions) {
    super(renderProblems(problems, source), options);
    this.problems = problems;
    this.source = source;
  }
}

export function renderPath(path: ConfigPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const name = /^[\w$<-]{1,64}$/.test(step) ? step : JSON.stringify(step.slice(0, 64));
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

const secretKey = /token|secret|passw|credential|authori[sz]ation|cookie|api_?key|private_?key/i;
/** Sections whose keys are chosen by other programs: any of their values may be a secret. */
const secretSections: ReadonlySet<string | number> = new Set(["env", "headers"]);

/** Whether the value at this path may be a secret: its problems are described without repeating the value. */
export function isSecretPath(path: ConfigPath): boolean {
  return path.some(
    (step, index) =>
      typeof step === "string" && (secretKey.test(step) || (index > 0 && secretSections.has(path[index - 1] ?? ""))),
  );
}

function renderProblems(problems: readonly ConfigProblem[], source: string): string {
  return [`${source} has ${countProblems(problems)}:`, ...renderProblemLines(problems, source)].join("\n");
}

export function countProblems({ length }: readonly ConfigProblem[]): string {
  return length === 1 ? "a problem" : `${length} problems`;
}

/** A line for each problem, to stand below a heading. */
export function renderProblemLines(problems: readonly ConfigProblem[], source: string): string[] {
  return problems.map((problem) => {
    const place = problem.line === undefined ? "" : `${source}:${problem.line}:${problem.column ?? 1} `;
    const path = problem.path === "" ? "" : `${problem.path}: `;
    const hint = problem.suggestion === undefined ? "" : `; did you mean "${problem.suggestion}"?`;
    return `  ${place}${path}${problem.message}${hint}`;
  });
}
