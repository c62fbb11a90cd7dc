// `${NAME}` in a config: the place of a secret that should not stand in a file.

export type Environment = Readonly<Record<string, string | undefined>>;

const reference = /\$(\$?)\{([^}]*)\}/g;

/** Puts values of the environment into a text. `$${` stands for a plain `${`. Problems never repeat what a variable holds. */
export function substituteEnvironment(
  text: string,
  environment: Environment,
): { value: string; isChanged: boolean } | { problem: string } {
  let problem: string | undefined;
  let isChanged = false;
  const value = text.replace(reference, (whole, escaping: string, name: string) => {
    if (escaping !== "") return whole.slice(1);
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      problem ??= `\${…} must name an environment variable; write $\${…} for the characters themselves`;
      return "";
    }
    const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
    // An empty variable is taken for a forgotten one: an empty token would open the host to everybody.
    if (found === undefined || found === "") problem ??= `the environment variable ${name} is not set, or empty`;
    isChanged = true;
    return found ?? "";
  });
  return problem === undefined ? { value, isChanged } : { problem };
}
