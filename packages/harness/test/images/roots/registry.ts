import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A real registry on loopback. */
export interface Registry {
  /** Such as `127.0.0.1:40791`. */
  readonly address: string
  stop(): Promise<void>
}

/** What it asks of those who come. */
export interface RegistryOptions {
  /** Speaks https with a certificate of its own, for `localhost`. */
  readonly tls?: { readonly certificate: string; readonly key: string }
  /** Lets in only the user `boxlab` with the password `secret`. */
  readonly password?: boolean
}

/** `boxlab:secret`, as htpasswd -B writes it. */
const PASSWORDS = 'boxlab:$2b$04$6b1HpBdgUAm00yaAi7RE1utIEpAmY1sv/kkv1KU.k5re3TG1nMxh2\n'

/** Starts Debian's docker-registry on a free port, with its data in the empty folder. */
export async function startRegistry(folder: string, options: RegistryOptions = {}): Promise<Registry> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'passwords'), PASSWORDS)
  const { tls, password } = options
  const config = {
    version: 0.1,
    log: { level: 'info' },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: '127.0.0.1:0', ...(tls && { tls }) },
    ...(password && { auth: { htpasswd: { realm: 'test', path: join(folder, 'passwords') } } }),
  }
  // YAML takes JSON.
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(config))
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', '--', 'docker-registry', 'serve', join(folder, 'config.yml')],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve())
  })
  let words = ''
  for await (const line of createInterface({ input: child.stderr })) {
    words += `${line}\n`
    const address = /listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1]
    if (address === undefined) continue
    child.stderr.resume()
    return {
      address,
      async stop() {
        child.kill('SIGKILL')
        await ended
      },
    }
  }
  throw new Error(`docker-registry did not start: ${words}`)
}

/** Copies an image with skopeo. */
export function copyImage(from: string, to: string, flags: readonly string[] = []): void {
  execFileSync('skopeo', ['--insecure-policy', 'copy', '--quiet', ...flags, from, to], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

/** A certificate for `localhost` that nobody but its own file vouches for. */
export function certificate(folder: string): { certificate: string; key: string } {
  mkdirSync(folder, { recursive: true })
  const [file, key] = [join(folder, 'ca.crt'), join(folder, 'server.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      ...subject,
      '-keyout',
      key,
      '-out',
      file,
    ],
    { stdio: 'ignore' },
  )
  return { certificate: file, key }
}
