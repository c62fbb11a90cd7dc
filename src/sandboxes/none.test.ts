import { createNoSandbox } from "./none.ts";
import { testProcessSandbox } from "./process-sandbox.suite.ts";

testProcessSandbox("none", async () => createNoSandbox());
