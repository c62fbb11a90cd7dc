/** Scenarios of the MCP project's conformance suite that we do not pass, each with the reason. One that passes must go. */
export const expectedServerFailures: Readonly<Record<string, string>> = {};
