// Boots box after box in one process, a fifth of them killed at named points, and fails when what the process holds
// grows: descriptors, threads, memory, children, records, temporary files.
//
//   npm run bench -- endure [N]      default 200 boots
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BoxOptions, Wait } from '../src/index.ts'
import { bootDisk } from '../test/fixtures/boot-sector.ts'
import { bootAndDie, bootAndStop, type Death, deaths } from './endure/deaths.ts'
import { growthOf } from './endure/growth.ts'
import { ownResources, type Resources } from './endure/own-resources.ts'
import { short, table } from './overhead/table.ts'

/** Fewer boots have quarters of which no median says much. */
const FEWEST = 20
const KILLED_EACH = 5

const [given = '200'] = process.argv.slice(2)
const boots = Number(given)
if (!Number.isInteger(boots) || boots < FEWEST) throw new Error(`boots: a whole number from ${FEWEST} on, not ${given}`)

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-endure-'))
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
const [home, temp] = [join(scratch, 'home'), join(scratch, 'tmp')]
mkdirSync(temp)
process.env['BOXLAB_HOME'] = home
process.env['TMPDIR'] = temp
const disk = join(scratch, 'disk.img')
writeFileSync(disk, bootDisk('the boot sector runs\r\n'))
// Whatever becomes of a box, nothing of it is to stay: what stays all the same counts as grown.
const options: BoxOptions = {
  boot: 'firmware',
  accel: 'tcg',
  disks: [{ path: disk }],
  waitFor: Wait.forConsole('done'),
  record: { keep: 'never' },
}

const samples: Resources[] = []
const spentMs = { killed: 0, stopped: 0 }
const outcomes = new Map<string, string[]>()
let killed = 0
console.log(`${boots} boots, Linux ${release()}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`)
for (let boot = 0; boot < boots; boot += 1) {
  const death = boot % KILLED_EACH === KILLED_EACH - 1 ? deaths[killed % deaths.length] : undefined
  const begin = performance.now()
  if (death) note(death, await bootAndDie(options, death))
  else await bootAndStop(options)
  spentMs[death ? 'killed' : 'stopped'] += performance.now() - begin
  if (death) killed += 1
  samples.push(ownResources(home, temp))
}

function note({ way, point }: Death, outcome: string): void {
  const title = `${way} at ${point}`
  outcomes.set(title, [...(outcomes.get(title) ?? []), outcome])
}

console.log(
  `\n${table(
    ['killed by', 'boots', 'their boots ended'],
    [...outcomes].map(([title, codes]) => [title, String(codes.length), [...new Set(codes)].join(' ')]),
  )}`,
)
const growth = growthOf(samples)
const rows = growth.map(({ name, grew, ...values }) => {
  const { first, middle, last, most, secondQuarter, lastQuarter, allowed } = values
  return [name, ...[first, middle, last, most, secondQuarter, lastQuarter, allowed].map(short), grew ? 'grew' : 'ok']
})
const head = [
  'held after a boot',
  'first',
  'middle',
  'last',
  'most',
  '2nd quarter',
  'last quarter',
  'allowed',
  'verdict',
]
console.log(`\n${table(head, rows)}`)
const rate = (count: number, ms: number): string => short(count / (ms / 1000))
const stopped = boots - killed
console.log(
  `\nboots a second: ${rate(stopped, spentMs.stopped)} not killed (n=${stopped}), ${rate(killed, spentMs.killed)} killed (n=${killed}); load ${loadavg()[0]?.toFixed(1)}`,
)
const grown = growth.filter(({ grew }) => grew).map(({ name }) => name)
console.log(
  `endure: ${boots} boots, ${killed} killed, ${grown.length === 0 ? 'nothing grew' : `grew: ${grown.join(', ')}`}`,
)
if (grown.length > 0) process.exitCode = 1
