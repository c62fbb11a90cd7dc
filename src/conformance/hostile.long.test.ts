import { testHostileLines } from "./hostile.suite.ts";

// HOSTILE_SEED chooses other lines.
testHostileLines(process.env.SOAK === undefined ? 1 : 20);
