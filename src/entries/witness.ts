// The public subpath `a2e/witness`: an agent checks the audit log of its host. Apart from `a2e/client`, whose bundle would
// have the code of the proofs otherwise. For browsers and everywhere else.
export {
  type AuditWitness,
  type CheckpointStore,
  createAuditWitness,
  createMemoryCheckpoints,
  type WitnessOptions,
} from "../client/audit-witness.ts";
