// `${NAME}` in a config: the place of a secret that should not stand in a file.

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

const reference = /\$(\$?)\{([^}]*)\}/g;

/**
 * Replaces variables in a text by their values. `$${` stands for a plain `${`. Problems never repeat the value of a
 * variable.
 */
export function substituteEnvironment(
  text: string,
  environment: EnvironmentVariables,
): { value: string; variables: Readonly<Record<string, string>> } | { problem: string } {
  let problem: string | undefined;
  const variables: Record<string, string> = {};
  const value = text.replace(reference, (whole, escaping: string, name: string) => {
    if (escaping !== "") return whole.slice(1);
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      problem ??= `\${…} must name an environment variable; write $\${…} for the characters themselves`;
      return "";
    }
    const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
    // An empty variable is taken for a forgotten one: an empty token would open the host to all clients.
    if (found === undefined || found === "") {
      problem ??= `the environment variable ${name} is not set, or empty`;
      return "";
    }
    variables[name] = found;
    return found;
  });
  return problem === undefined ? { value, variables } : { problem };
}

/** Shorter values are not replaced: they occur in unrelated words. */
const minConcealedLength = 4;

/** Replaces values of variables in a text by their names, where they can be recognised. */
export function concealVariables(text: string, variables: Readonly<Record<string, string>> = {}): string {
  const concealed = Object.entries(variables).filter(
    ([, value]) => value.length >= minConcealedLength && !/^(true|false)$/.test(value),
  );
  // The longest first: a value may contain another.
  concealed.sort(([, one], [, other]) => other.length - one.length);
  return concealed.reduce((shown, [name, value]) => {
    const written = () => `\${${name}}`;
    const quoted = JSON.stringify(value).slice(1, -1);
    return shown.replaceAll(value, written).replaceAll(quoted, written);
  }, text);
}

/** The same for a whole error: its message, stack, fields and causes. */
export function concealInError(error: unknown, variables: Readonly<Record<string, string>> = {}): void {
  const seen = new Map<object, unknown>();
  const conceal = (value: unknown): unknown => {
    if (typeof value === "string") return concealVariables(value, variables);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    // Other objects that an error refers to may be in use and are copied. Only plain objects and arrays can be copied.
    const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
    if (!isPlain && !(value instanceof Error)) return value;
    const shown = Array.isArray(value) ? [] : isPlain ? {} : value;
    seen.set(value, shown);
    const names = isPlain ? Object.keys(value) : ["message", "stack", ...Object.getOwnPropertyNames(value)];
    for (const name of names) {
      try {
        Reflect.set(shown, name, conceal(Reflect.get(value, name)));
      } catch {
        // A property that cannot be read or written is skipped: throwing here would reveal more.
      }
    }
    return shown;
  };
  conceal(error);
}
