// Kills the owner of a box in every way at every step of its start, with real vitest runs, and counts what is left: a
// box dies with its owner within a second, and a sweep then leaves nothing but its record, which says so.
//
//   npm run bench -- kill [WORD...]      only the cells whose title has all the words, for example: kill forks SIGKILL ready
import { mkdtempSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootBox, stateRoot } from '../src/index.ts'
import { bootDisk } from '../test/fixtures/boot-sector.ts'
import { allCells, type Cell, controlCell, stepsOf, titleOf } from './kill/cells.ts'
import { leaksOf, resultHead, resultRow } from './kill/report.ts'
import { BOUND_MS, type CellResult, runCell } from './kill/run-cell.ts'
import { table } from './overhead/table.ts'

const filter = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'boxlab-kill-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const material = {
  disk: disk('disk.img', 1),
  largeDisk: disk('large.img', 64),
  // Waits without a process of its own for that, and then becomes QEMU.
  lateEngine: engine(
    'late-engine',
    "#!/usr/bin/perl\nselect undef, undef, undef, 0.4;\nexec 'qemu-system-x86_64', @ARGV;\n",
  ),
  untiedEngine: engine('untied-engine', '#!/bin/sh\nexec setpriv --pdeathsig clear -- qemu-system-x86_64 "$@"\n'),
}
const steps = stepsOf(material)
const cells = allCells(steps).filter((cell) => filter.every((word) => titleOf(cell).includes(word)))
if (cells.length === 0) throw new Error(`no cell has all of: ${filter.join(', ')}`)

function disk(name: string, sizeMib: number): string {
  const path = join(folder, name)
  writeFileSync(path, bootDisk('the boot sector runs\r\n'))
  truncateSync(path, sizeMib * 1024 * 1024)
  return path
}

function engine(name: string, script: string): string {
  const path = join(folder, name)
  writeFileSync(path, script, { mode: 0o755 })
  return path
}

async function prepareKernel(): Promise<void> {
  if (!cells.some(({ step }) => step.box.boot === undefined)) return
  await using box = await bootBox({ accel: 'tcg' })
  console.log(`kernel of the kernel step: ready in ${((box.metrics().totalCreateDurationMs ?? 0) / 1000).toFixed(1)} s`)
}

/** An engine that outlives its owner must be seen, and the sweep must end it: else the zeros below mean nothing. */
async function control(images: string): Promise<void> {
  const result = await runCell(controlCell(material), images)
  const leaks = leaksOf(result)
  const { killedBySweep, enginesAfterSweep } = result
  const words = `${leaks} leaks seen, ${killedBySweep} engines killed by the sweep, ${enginesAfterSweep} alive after it`
  console.log(`control, an engine without its tie to its owner: ${words}`)
  if (leaks === 0 || killedBySweep !== 1 || enginesAfterSweep !== 0) throw new Error('the control went wrong')
}

async function main(): Promise<void> {
  const images = join(stateRoot(), 'images')
  mkdirSync(images, { recursive: true })
  console.log(`${cells.length} cells, Linux ${release()}, Node ${process.version}, ${load()}`)
  await prepareKernel()
  await control(images)
  const begin = performance.now()
  const rows: string[][] = []
  let leaks = 0
  for (const cell of cells) {
    const result = await outcome(cell, images)
    leaks += typeof result === 'string' ? 1 : leaksOf(result)
    rows.push(resultRow(cell, result))
    if (typeof result === 'string') console.log(`not carried out: ${titleOf(cell)}: ${result}`)
    if (process.stderr.isTTY) process.stderr.write(`\r${rows.length} of ${cells.length}, ${leaks} leaks `)
  }
  console.log(`\n${table(resultHead, rows)}\n`)
  const minutes = ((performance.now() - begin) / 60_000).toFixed(1)
  console.log(`bound: no engine and no owner is alive ${BOUND_MS} ms after the blow. ${minutes} min, ${load()}`)
  console.log(`kill: ${cells.length} cells, ${leaks} leaks`)
  if (leaks > 0) process.exitCode = 1
}

function load(): string {
  return `load ${loadavg()[0]?.toFixed(1)}`
}

/** A cell that could not be carried out shows nothing, so it counts as a leak. */
async function outcome(cell: Cell, images: string): Promise<CellResult | string> {
  try {
    return await runCell(cell, images)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

await main()
