import { testCuts } from "./cuts.suite.ts";

testCuts(process.env.SOAK === undefined ? 1_000 : 20_000);
