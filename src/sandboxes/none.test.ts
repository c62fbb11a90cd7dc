import { createNoSandbox } from "./none.ts";
import { testProcessSandbox } from "./suites/process-sandbox.suite.ts";

testProcessSandbox("none", async () => createNoSandbox(), { isExact: true });
