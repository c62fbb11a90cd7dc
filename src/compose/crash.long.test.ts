import { testKills } from "./crash.suite.ts";

testKills(process.env.SOAK === undefined ? 50 : 500);
