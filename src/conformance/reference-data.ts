// Environments and a file by which a host can be asked about episodes and data. A host that has them is asked more.

/** The counter of the protocol's documentation, and a lake of Gymnasium's for chance and step limits. */
export type ReferenceEnvironment = "counter_env" | "FrozenLake-v1";

/** Belongs into the baseline of `env/data`, and into a folder that agents may stage files from. */
export const referenceFile = {
  name: "conformance.txt",
  content: "A file that every session begins with.\n",
  checksum: "sha256:9872c7541d56ce6c946fd1c22b1328ff4675e3d036c1521f84def2b2e19ddbb4",
} as const;
