import { testLinesOverKills } from "./crash-lines.suite.ts";

testLinesOverKills(process.env.SOAK === undefined ? 20 : 200);
