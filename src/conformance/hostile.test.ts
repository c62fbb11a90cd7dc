import { testHostileLines } from "./hostile.suite.ts";

testHostileLines(0.05);
