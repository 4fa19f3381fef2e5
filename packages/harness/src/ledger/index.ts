export { bootInTurn } from './boot-turn.ts'
export { type ExclusiveHost, exclusiveHost, type ExclusiveOptions } from './exclusive-host.ts'
export { type HostLimits, hostLimits, limitHost } from './limits.ts'
export { ledgerFolder } from './take-turn.ts'
