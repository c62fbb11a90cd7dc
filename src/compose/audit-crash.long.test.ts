import { testAuditOverKills } from "./audit-crash.suite.ts";

testAuditOverKills(process.env.SOAK === undefined ? 50 : 500);
