// `${NAME}` in a config: the place of a secret that should not stand in a file.

export type Environment = Readonly<Record<string, string | undefined>>;

const reference = /\$(\$?)\{([^}]*)\}/g;

/** Puts values of the environment into a text. `$${` stands for a plain `${`. Problems never repeat what a variable holds. */
export function substituteEnvironment(
  text: string,
  environment: Environment,
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

/** The same for all that an error says: its message, its stack, and those of what caused it. */
export function concealInError(error: unknown, variables: Readonly<Record<string, string>> = {}): void {
  const seen = new Set<unknown>();
  const conceal = (thrown: unknown): void => {
    if (!(thrown instanceof Error) || seen.has(thrown)) return;
    seen.add(thrown);
    for (const name of ["message", "stack"] as const) {
      const text = thrown[name];
      // Not to be written to is an error that somebody else has frozen, and to fail here would show even more of it.
      if (typeof text === "string") Reflect.set(thrown, name, concealVariables(text, variables));
    }
    if (typeof thrown.cause === "string") Reflect.set(thrown, "cause", concealVariables(thrown.cause, variables));
    conceal(thrown.cause);
    if (thrown instanceof AggregateError) thrown.errors.forEach(conceal);
  };
  conceal(error);
}
