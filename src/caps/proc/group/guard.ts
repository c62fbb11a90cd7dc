// The processes that a killed host leaves behind, found by their group and by their mark.
import { killGroups, OrphanGuard } from "../../../machinery/processes/orphan-guard.ts";
import { markName } from "./group.ts";

/** `$1` is in the mark of every process of this host, also of one that has left its group. */
const cleanUp = `${killGroups}
for round in 1 2 3; do
  for file in $(grep -lsaF "${markName}=$1-" /proc/[0-9]*/environ); do
    one=\${file#/proc/}
    kill -s KILL "\${one%/environ}"
  done
done`;

/** Kills process groups, and every process whose mark begins with `run` and a dash. No other host has the same `run`. */
export function createProcessGuard(run: string): OrphanGuard {
  return new OrphanGuard({ name: "a2e-guard", cleanUp, args: [run] });
}
