// The suites without control groups, on a machine that has them; bubblewrap.test.ts runs them with the groups of the
// machine.
import { defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import { reportNotRun } from "../../testing/needs.suite.ts";
import { hasControlGroups, testBubblewrap } from "./bubblewrap.suite.ts";
import { openBubblewrap } from "./probe.ts";

const probe = await openBubblewrap({ defaults });
await probe.sandbox?.close();

if (hasControlGroups(probe)) testBubblewrap({ usesControlGroups: false });
else
  reportNotRun("the shared suites of sandboxes for bubblewrap, a second time", {
    name: "bubblewrap with control groups",
    isMet: false,
    isOptional: true,
  });
