// Checks the version of Node. Imports nothing: an old Node could not even link the imports of the program.

/** The problem with this version; undefined if it is supported. */
export function findNodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `a2e needs Node 20.19 or newer; this is ${version}`;
}
