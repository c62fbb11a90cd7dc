/**
 * Scenarios of the MCP project's conformance suite that the host does not pass, each with the reason. An entry that
 * passes must be removed.
 */
export const expectedServerFailures: Readonly<Record<string, string>> = {};
