// The sandbox settings of a host config, and the default limits of programs in a sandbox.
import { z } from "zod";
import type { SandboxLimits } from "../plugin/ports/sandbox.ts";

const mebibyte = 1024 * 1024;

export const defaultSandboxLimits: Readonly<SandboxLimits> = {
  memoryBytes: 1024 * mebibyte,
  cpuSeconds: 600,
  processes: 128,
  fileBytes: 256 * mebibyte,
  workspaceBytes: 10 * 1024 * mebibyte,
  scratchBytes: 256 * mebibyte,
  openFiles: 1024,
};

/** An image with Node and Python, for hosts on which Docker runs the programs that bubblewrap would run elsewhere. */
export const defaultDockerImage = "node:20-bookworm";

const text = z.string().min(1);
const limit = z.int().min(1);

const limits = z.strictObject({
  memory_bytes: limit.default(defaultSandboxLimits.memoryBytes).describe("Memory of all its processes together."),
  cpu_seconds: limit
    .default(defaultSandboxLimits.cpuSeconds)
    .describe("Processor time of all its processes together, not time on the wall."),
  processes: limit.default(defaultSandboxLimits.processes).describe("Processes and threads at once."),
  file_bytes: limit.default(defaultSandboxLimits.fileBytes).describe("The largest file it may write."),
  workspace_bytes: limit
    .default(defaultSandboxLimits.workspaceBytes)
    .describe("By how much programs may make a workspace grow while the host runs, all together."),
  scratch_bytes: limit.default(defaultSandboxLimits.scratchBytes).describe("Size of its private /tmp."),
  open_files: limit.default(defaultSandboxLimits.openFiles).describe("Open files of each process."),
});

export const sandboxConfig = z.strictObject({
  default: z
    .enum(["auto", "bubblewrap", "docker", "none"])
    .default("auto")
    .describe(
      'Where programs of agents and skills run. "auto" is the first of bubblewrap and docker that works here, and never "none", which confines nothing.',
    ),
  network: z
    .boolean()
    .default(false)
    .describe("True allows network access to programs whose plugin asks for it; false denies it to all."),
  readable: z
    .array(text)
    .default([])
    .describe("Folders of this machine that every program may read beside the system: interpreters, data."),
  docker_image: text
    .default(defaultDockerImage)
    .describe("The image that docker runs programs in. It has to be on this machine: images are not downloaded."),
  limits: limits.prefault({}).describe("The most that a program and its child processes may use."),
});

/** The limits as sandboxes use them. */
export function toSandboxLimits(config: z.output<typeof limits>): SandboxLimits {
  return {
    memoryBytes: config.memory_bytes,
    cpuSeconds: config.cpu_seconds,
    processes: config.processes,
    fileBytes: config.file_bytes,
    workspaceBytes: config.workspace_bytes,
    scratchBytes: config.scratch_bytes,
    openFiles: config.open_files,
  };
}
