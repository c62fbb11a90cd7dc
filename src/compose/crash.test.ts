import { testKills } from "./crash.suite.ts";

testKills(4);
