// The containers that a killed host leaves behind. They are children of the docker daemon and continue without the
// host.
import { OrphanGuard } from "../../machinery/processes/orphan-guard.ts";

/** Twice, because a container that was being created when the host was killed exists only afterwards. */
const cleanUp = `
for pause in 0 2; do
  sleep "$pause"
  for label in $entries; do
    found=$("$1" ps --all --quiet --filter "label=$label")
    [ -z "$found" ] || "$1" rm --force --volumes $found
  done
done`;

export interface ContainerGuardOptions {
  /** The docker command, by its path. */
  readonly docker: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A guard whose entries are labels: it removes every container that carries one of them. */
export function createContainerGuard({ docker, env }: ContainerGuardOptions): OrphanGuard {
  return new OrphanGuard({ name: "a2e-containers", cleanUp, args: [docker], env });
}
