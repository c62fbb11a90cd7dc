// The names of the built-in toolkits, in a file of their own: the options need them before any toolkit is loaded.

export const builtinNames = ["filesystem", "http", "sqlite"] as const;

export type BuiltinName = (typeof builtinNames)[number];
