// Exit codes, so that a script can distinguish how a command ended.

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  toolFailed: 4,
  interrupted: 130,
} as const;
