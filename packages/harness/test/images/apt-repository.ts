import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A package to build: its dependencies and its files. */
export interface TinyPackage {
  readonly name: string
  readonly version: string
  readonly depends?: string
  readonly files?: Readonly<Record<string, Buffer | string>>
}

/**
 * A repository of real packages in a folder, and an apt of its own that reads only it: no network and no root.
 * `config` is the file for the environment variable APT_CONFIG.
 */
export class AptRepository {
  readonly config: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.config = join(folder, 'apt.conf')
  }

  /** Sets apt up, without any list. */
  async create(): Promise<void> {
    const folders = ['pool', 'lists/partial', 'cache/archives/partial', 'empty', 'state']
    for (const folder of folders) await mkdir(join(this.#folder, folder), { recursive: true })
    await writeFile(join(this.#folder, 'status'), '')
    await writeFile(join(this.#folder, 'sources.list'), `deb [trusted=yes] file:${this.#folder}/pool ./\n`)
    const settings = {
      'APT::Architecture': 'amd64',
      'APT::Sandbox::User': 'root',
      'Dir::State': join(this.#folder, 'state'),
      'Dir::State::lists': join(this.#folder, 'lists'),
      'Dir::State::status': join(this.#folder, 'status'),
      'Dir::Cache': join(this.#folder, 'cache'),
      'Dir::Etc::sourcelist': join(this.#folder, 'sources.list'),
      'Dir::Etc::sourceparts': join(this.#folder, 'empty'),
      'Dir::Etc::parts': join(this.#folder, 'empty'),
      'Dir::Etc::main': '/dev/null',
      'Dir::Etc::preferencesparts': join(this.#folder, 'empty'),
    }
    await writeFile(
      this.config,
      Object.entries(settings)
        .map(([key, value]) => `${key} "${value}";\n`)
        .join(''),
    )
  }

  /** Replaces what the repository offers, and reads it into apt's lists. */
  async publish(packages: readonly TinyPackage[]): Promise<void> {
    const stanzas = await Promise.all(packages.map((each) => this.#build(each)))
    await writeFile(join(this.#folder, 'pool/Packages'), stanzas.join('\n'))
    await run('apt-get', ['update'], { env: { ...process.env, APT_CONFIG: this.config } })
  }

  /** Where the file of a published package is. */
  file(name: string): string {
    return join(this.#folder, 'pool', `${name}.deb`)
  }

  async #build({ name, version, depends, files }: TinyPackage): Promise<string> {
    const root = join(this.#folder, 'build', name)
    const fields = [
      `Package: ${name}`,
      `Version: ${version}`,
      'Architecture: amd64',
      'Maintainer: Nobody <nobody@example.org>',
      ...(depends ? [`Depends: ${depends}`] : []),
      'Description: a package for a test',
    ]
    const contents = { 'DEBIAN/control': `${fields.join('\n')}\n`, ...files }
    for (const [path, content] of Object.entries(contents)) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
    }
    await run('dpkg-deb', ['--build', '--root-owner-group', '-Znone', root, this.file(name)])
    await rm(root, { recursive: true })
    const bytes = await readFile(this.file(name))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return [...fields, `Filename: ./${name}.deb`, `Size: ${bytes.length}`, `SHA256: ${sha256}`, ''].join('\n')
  }
}
