import { availableParallelism } from 'node:os'
import { BoxError, defaultMemoryMib, type LedgerLimits } from '@boxlab/native'

/** What all boxes of this host may have together. */
export interface HostLimits {
  /**
   * Guest memory of all boxes that boot or run, in MiB. Default: `BOXLAB_MAX_MEMORY_MIB`, else 80 % of the host's memory
   * or of what the cgroups of this process leave of it.
   */
  readonly maxMemoryMib?: number
  /** Boxes that boot or run at once. Default: `BOXLAB_MAX_BOXES`, else as many as memory allows. */
  readonly maxBoxes?: number
}

let given: HostLimits = {}

/**
 * Sets limits for the boxes that this process boots from now on, in place of the environment's. Other processes go by
 * their own: for a whole test run the variables are the better place.
 */
export function limitHost(limits: HostLimits): void {
  for (const [name, value] of Object.entries(limits)) whole(value, `\`${name}\``)
  given = { ...limits }
}

/** The limits that hold for the next boot of this process. */
export function hostLimits(environment: NodeJS.ProcessEnv = process.env): LedgerLimits {
  const { maxMemoryMib = fromEnvironment('BOXLAB_MAX_MEMORY_MIB'), maxBoxes = fromEnvironment('BOXLAB_MAX_BOXES') } =
    given
  return {
    maxMemoryMib: maxMemoryMib ?? defaultMemoryMib(),
    ...(maxBoxes !== undefined && { maxBoxes }),
    // More boots at once than CPUs only make each other slow.
    maxBootingCpus: availableParallelism(),
  }

  function fromEnvironment(name: string): number | undefined {
    const text = environment[name]
    if (text === undefined || text === '') return undefined
    return whole(/^\d+$/.test(text) ? Number(text) : text, `the environment variable ${name}`)
  }
}

function whole(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  throw new BoxError('ERR_BOX_OPTIONS', `${name} must be a whole number of 1 or more, not ${JSON.stringify(value)}`)
}
