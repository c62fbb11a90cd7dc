// The names of the built-in toolkits, apart from them: options are read before anything is made.

export const builtinNames = ["filesystem", "http", "sqlite"] as const;

export type BuiltinName = (typeof builtinNames)[number];
