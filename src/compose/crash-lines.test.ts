import { testLinesOverKills } from "./crash-lines.suite.ts";

testLinesOverKills(2);
