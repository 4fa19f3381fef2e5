import { BoxError, type Machine, type Watch } from '@boxlab/native'
import type { History } from './history.ts'
import type { WaitLeaf } from './strategy.ts'
import { managerVerdict, unitVerdict, type Verdict } from './unit-verdict.ts'

/** Follows systemd, change by change, until the leaf came; a state that it cannot leave again is an error. */
export async function systemdLeaf(
  part: Extract<WaitLeaf, { kind: 'unit' | 'systemd' }>,
  machine: Machine,
  history: History,
  over: AbortSignal,
): Promise<void> {
  if (part.kind === 'unit') await follow(await machine.watchUnit(part.unit), unitVerdict)
  else await follow(await machine.watchManager(), (state) => managerVerdict(state, part.state))

  async function follow<State>(watch: Watch<State>, judge: (state: State) => Verdict): Promise<void> {
    const end = (): void => watch.end()
    over.addEventListener('abort', end, { once: true })
    try {
      for (;;) {
        const verdict = judge(await watch.next())
        if (verdict.came) return
        if ('never' in verdict) throw new BoxError('ERR_BOX_UNIT', verdict.never)
        history.saw(verdict.notYet)
        over.throwIfAborted()
      }
    } finally {
      over.removeEventListener('abort', end)
      watch.end()
    }
  }
}
