// The system calls that a confined program may not make: calls that reconfigure the system, through which programs have
// escaped from many sandboxes, and new namespaces, in which a program would be root. A classic BPF program, as `bwrap
// --seccomp` takes it.

type Architecture = "x64" | "arm64";

/** From linux/audit.h. */
const auditNames: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Numbers of the calls on x64 and arm64; undefined if the architecture lacks the call. */
const refusedCalls: Record<string, readonly [number | undefined, number | undefined]> = {
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  acct: [163, 89],
  quotactl: [179, 60],
  iopl: [172, undefined],
  ioperm: [173, undefined],
};

/** Answered with ENOSYS, as if the kernel did not have them: programs then use older calls. */
const absentCalls: Record<string, readonly [number, number]> = {
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Has the same effect as the ioctl `fileAttributes`.
  file_setattr: [469, 469],
};

const unshareCall = [272, 97] as const;
const cloneCall = [56, 220] as const;
const ioctlCall = [16, 29] as const;
const socketCall = [41, 198] as const;
const fallocateCall = [285, 47] as const;

/**
 * AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: the families that programs use and that a network namespace confines. Some
 * others bypass it, for example AF_VSOCK to the host of a virtual machine.
 */
const allowedFamilies = [1, 2, 10, 16];

/** All CLONE_NEW* flags except CLONE_NEWTIME. */
const namespaceFlags = 0x7e020000;
/** TIOCSTI: puts characters into a terminal as if they had been typed. */
const typeIntoTerminal = 0x5412;
/** TIOCLINUX: selects and pastes on a console. */
const consoleControl = 0x541c;
/** Modes of `fallocate` that free space: FALLOC_FL_PUNCH_HOLE and FALLOC_FL_COLLAPSE_RANGE. */
const freeingModes = 0x02 | 0x08;
/**
 * Reserving disk space without writing to it would fill a workspace faster than the host can count it, and one mode
 * ignores the limit of the file size. These ioctls do it too: FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE and the
 * XFS_IOC_ALLOCSP of older kernels.
 */
const reservingControls = [0x40305828, 0x4030582a, 0x40305839, 0x4030580a, 0x40305824];
/** FS_IOC_FSSETXATTR: on XFS, it can make a file take gibibytes for its first byte. */
const fileAttributes = 0x401c5820;
/** On x64, numbers from here on belong to another calling convention (x32). */
const foreignCalls = 0x40000000;

const allow = 0x7fff0000;
const fail = (errorNumber: number) => 0x00050000 | errorNumber;
const notPermitted = fail(1);
const notImplemented = fail(38);
const noSuchFamily = fail(97);
/** EOPNOTSUPP, the answer of file systems that cannot reserve space: libraries then write zeros. */
const notSupported = fail(95);

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const jumpIfEqual = (value: number, jumpTrue: number, jumpFalse: number): Instruction => [
  0x15,
  jumpTrue,
  jumpFalse,
  value,
];
const jumpIfAnyBit = (value: number, jumpTrue: number, jumpFalse: number): Instruction => [
  0x45,
  jumpTrue,
  jumpFalse,
  value,
];
const jumpIfAtLeast = (value: number, jumpTrue: number, jumpFalse: number): Instruction => [
  0x35,
  jumpTrue,
  jumpFalse,
  value,
];
const answer = (value: number): Instruction => [0x06, 0, 0, value];

/** Offsets in the kernel's data: number, architecture, and the lower halves of the first two arguments. */
const offsets = { call: 0, architecture: 4, first: 16, second: 24 };

export interface FilterOptions {
  architecture: string;
  /** True if a step before the program still needs a namespace. */
  allowsUnshare: boolean;
}

/** Undefined for architectures whose call numbers are not known here. */
export function createSystemCallFilter({ architecture, allowsUnshare }: FilterOptions): Buffer | undefined {
  if (architecture !== "x64" && architecture !== "arm64") return undefined;
  const at = architecture === "x64" ? 0 : 1;
  const refuse = (call: number | undefined, how: number) =>
    call === undefined ? [] : [jumpIfEqual(call, 0, 1), answer(how)];
  const controls = [
    ...[typeIntoTerminal, consoleControl].flatMap((control) => refuse(control, notPermitted)),
    ...[...reservingControls, fileAttributes].flatMap((control) => refuse(control, notSupported)),
  ];
  const program: Instruction[] = [
    load(offsets.architecture),
    jumpIfEqual(auditNames[architecture], 1, 0),
    answer(notImplemented),
    load(offsets.call),
    ...(architecture === "x64" ? [jumpIfAtLeast(foreignCalls, 0, 1), answer(notImplemented)] : []),
    ...Object.values(refusedCalls).flatMap((numbers) => refuse(numbers[at], notPermitted)),
    ...Object.values(absentCalls).flatMap((numbers) => refuse(numbers[at], notImplemented)),
    ...(allowsUnshare ? [] : refuse(unshareCall[at], notPermitted)),
    ...[jumpIfEqual(cloneCall[at], 0, 4), load(offsets.first), jumpIfAnyBit(namespaceFlags, 0, 1)],
    ...[answer(notPermitted), answer(allow)],
    ...[jumpIfEqual(fallocateCall[at], 0, 4), load(offsets.second), jumpIfAnyBit(freeingModes, 1, 0)],
    ...[answer(notSupported), answer(allow)],
    ...[jumpIfEqual(ioctlCall[at], 0, controls.length + 2), load(offsets.second), ...controls, answer(allow)],
    ...[jumpIfEqual(socketCall[at], 0, allowedFamilies.length + 3), load(offsets.first)],
    ...allowedFamilies.map((family, index) => jumpIfEqual(family, allowedFamilies.length - index, 0)),
    ...[answer(noSuchFamily), answer(allow)],
    answer(allow),
  ];
  return assemble(program);
}

function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, jumpTrue, jumpFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
