// `${NAME}` in a config: the place of a secret that should not stand in a file.

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

const reference = /\$(\$?)\{([^}]*)\}/g;

/** Puts values of the environment into a text. `$${` stands for a plain `${`. Problems never repeat what a variable holds. */
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
    // An empty variable is taken for a forgotten one: an empty token would open the host to everybody.
    if (found === undefined || found === "") {
      problem ??= `the environment variable ${name} is not set, or empty`;
      return "";
    }
    variables[name] = found;
    return found;
  });
  return problem === undefined ? { value, variables } : { problem };
}

/** Shorter values hide nothing, and stand in words that have nothing to do with them. */
const minConcealedLength = 4;

/** Puts the names of variables back in place of what they held, as far as anybody could read it from the text. */
export function concealVariables(text: string, variables: Readonly<Record<string, string>> = {}): string {
  const concealed = Object.entries(variables).filter(
    ([, value]) => value.length >= minConcealedLength && !/^(true|false)$/.test(value),
  );
  // The longest first: one value may contain another.
  concealed.sort(([, one], [, other]) => other.length - one.length);
  return concealed.reduce((shown, [name, value]) => {
    const written = () => `\${${name}}`;
    const quoted = JSON.stringify(value).slice(1, -1);
    return shown.replaceAll(value, written).replaceAll(quoted, written);
  }, text);
}

/** The same for all that an error says: its message, its stack, its fields, and those of what caused it. */
export function concealInError(error: unknown, variables: Readonly<Record<string, string>> = {}): void {
  const seen = new Map<object, unknown>();
  const conceal = (value: unknown): unknown => {
    if (typeof value === "string") return concealVariables(value, variables);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    // What else an error refers to may be in use, and is copied. Only what is plain can be.
    const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
    if (!isPlain && !(value instanceof Error)) return value;
    const shown = Array.isArray(value) ? [] : isPlain ? {} : value;
    seen.set(value, shown);
    const names = isPlain ? Object.keys(value) : ["message", "stack", ...Object.getOwnPropertyNames(value)];
    for (const name of names) {
      try {
        Reflect.set(shown, name, conceal(Reflect.get(value, name)));
      } catch {
        // Not to be read or written is what somebody else has made so, and to fail here would show even more of it.
      }
    }
    return shown;
  };
  conceal(error);
}
