import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { getContainerRuntimeClient } from 'testcontainers'
import { afterAll, beforeAll } from 'vitest'
import { connectEngine, type Engine } from '../../../src/images/docker/engine.ts'
import { alive } from '../../fixtures/processes.ts'

const PREFIX = 'boxlab-docker-'
const SCRIPT = join(import.meta.dirname, '../../../../../scripts/setup/docker.sh')

/** The engine of a test file. */
export interface TestEngine {
  readonly engine: Engine
  /** Every container and image with a label of ours. */
  labelled(): Promise<string[]>
  /** What runs in containers with a label of ours. */
  runningCommands(): Promise<string[]>
  /** Every container, image and volume there is. */
  everything(): Promise<string[]>
  /** A container that was made and never started, with the labels of a build of this owner; gives its id. */
  leftover(image: string, owner: string): Promise<string>
  /** Removes those that are there. */
  removeContainers(ids: readonly string[]): Promise<void>
  /** Imports a tar archive as an image; it goes away after the tests. */
  importImage(name: string, tar: AsyncIterable<Uint8Array>): Promise<void>
}

/** An engine for this file: the one that answers, else one that is started here and ended after the tests. */
export function useEngine(): TestEngine {
  let engine: Engine | undefined
  let own: OwnEngine | undefined
  const imported: string[] = []
  const used = (): Engine => {
    if (!engine) throw new Error('the engine is there in tests only')
    return engine
  }
  beforeAll(async () => {
    // testcontainers' reaper needs an image that may not be there to be pulled, and is not used here.
    process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true'
    // testcontainers looks for an engine once in a process, so that it must be there before.
    if (!process.env['DOCKER_HOST'] && !(await answers('/var/run/docker.sock'))) {
      own = await startEngine()
      process.env['DOCKER_HOST'] = `unix://${own.socket}`
    }
    engine = await connectEngine()
  }, 60_000)
  afterAll(async () => {
    for (const name of imported) await engine?.ask({ method: 'DELETE', path: `/images/${name}` }).catch(() => {})
    await own?.end()
  }, 60_000)
  const list = async (kind: 'containers' | 'images', filters: object): Promise<string[]> => {
    const call = {
      method: 'GET',
      path: `/${kind}/json`,
      query: { all: 'true', filters: JSON.stringify(filters) },
    } as const
    return (await used().ask<{ Id: string }[]>(call)).map(({ Id }) => `${kind} ${Id}`)
  }
  return {
    get engine() {
      return used()
    },
    async labelled() {
      const filter = { label: ['boxlab.owner'] }
      // The engine gives what was made within one second in any order.
      return [...(await list('containers', filter)), ...(await list('images', filter))].toSorted()
    },
    async runningCommands() {
      const query = { filters: JSON.stringify({ label: ['boxlab.owner'], status: ['running'] }) }
      const found = await used().ask<{ Command: string }[]>({ method: 'GET', path: '/containers/json', query })
      return found.map(({ Command }) => Command)
    },
    async everything() {
      const { Volumes } = await used().ask<{ Volumes: { Name: string }[] | null }>({ method: 'GET', path: '/volumes' })
      const volumes = (Volumes ?? []).map(({ Name }) => `volumes ${Name}`)
      return [...(await list('containers', {})), ...(await list('images', {})), ...volumes].toSorted()
    },
    async leftover(image, owner) {
      const { container } = await getContainerRuntimeClient()
      const labels = { 'boxlab.owner': owner, 'boxlab.build': 'a-build-of-long-ago' }
      return (await container.create({ Image: image, Cmd: ['/bin/true'], Labels: labels })).id
    },
    async removeContainers(ids) {
      const query = { force: 'true' }
      for (const id of ids)
        await used()
          .ask({ method: 'DELETE', path: `/containers/${id}`, query })
          .catch(() => {})
    },
    async importImage(name, tar) {
      const [repo = '', tag = ''] = name.split(':')
      const query = { fromSrc: '-', repo, tag }
      let answer = ''
      for await (const chunk of await used().stream({ method: 'POST', path: '/images/create', query, input: tar })) {
        answer += Buffer.from(chunk).toString()
      }
      if (!answer.includes('sha256:')) throw new Error(`the image was not imported: ${answer}`)
      imported.push(name)
    },
  }
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket)
    connection.once('connect', () => resolve(true)).once('error', () => resolve(false))
    connection.once('connect', () => connection.destroy())
  })
}

interface OwnEngine {
  readonly socket: string
  end(): Promise<void>
}

async function startEngine(): Promise<OwnEngine> {
  removeDead()
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  const log = join(folder, 'log')
  const output = openSync(log, 'w')
  const child = spawn('bash', [SCRIPT, 'run', folder], { stdio: ['ignore', output, output] })
  const end = async (): Promise<void> => {
    await ended(child)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const socket = join(folder, 'docker.sock')
  for (const endMs = performance.now() + 40_000; !/API listen on/.test(readFileSync(log, 'utf8'));) {
    if (child.exitCode !== null || performance.now() > endMs) {
      const words = readFileSync(log, 'utf8').trim().split('\n').slice(-3).join('\n')
      await end()
      const remedy = 'Run scripts/setup.sh --docker as root, or start an engine and set DOCKER_HOST.'
      throw new Error(
        `These tests need a container engine: none answers, and none could be started here. ${remedy}\n${words}`,
      )
    }
    await sleep(50)
  }
  return { socket, end }
}

/** A killed test process ends its engine, and leaves the folder. */
function removeDead(): void {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(PREFIX))) {
    const owner = Number(/^\d+/.exec(name.slice(PREFIX.length))?.[0])
    const pidFile = join(tmpdir(), name, 'pid')
    const engine = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : undefined
    if (!alive(owner) && !alive(engine)) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const exit = once(child, 'exit')
  const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await exit
  clearTimeout(late)
}
