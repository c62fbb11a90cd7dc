import { testAuditOverKills } from "./audit-crash.suite.ts";

testAuditOverKills(4);
