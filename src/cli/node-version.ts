// Which Node will do. Imports nothing: an old one could not even link what the rest of the program imports.

/** What is wrong with this version; undefined where it will do. */
export function findNodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `a2e needs Node 20.19 or newer; this is ${version}`;
}
