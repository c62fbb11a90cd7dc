import { testCuts } from "./cuts.suite.ts";

testCuts(50);
