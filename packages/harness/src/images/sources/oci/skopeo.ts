import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ImageError } from '../../errors.ts'
import { pipeTool, runTool, type ToolOptions } from '../../run-tool.ts'
import { formatPlatform, type Platform } from './platform.ts'

/** How a registry is spoken to. */
export interface RegistryOptions {
  /** Whether the registry's certificate is checked, and plain http refused. Default: true, and false on loopback. */
  readonly tlsVerify?: boolean
  /** A folder with certificates (`ca.crt`, `client.cert`, `client.key`) beside the system's. */
  readonly certificates?: string
}

/** One call of skopeo: it is kept, speaks to every registry, and knows credentials and archives; see its manual. */
export interface SkopeoOptions extends RegistryOptions {
  /** What the errors call the image. */
  readonly name: string
  readonly platform: Platform
  readonly signal?: AbortSignal | undefined
  readonly onLine?: (line: string) => void
}

/** One small document: who does not answer in this time is not there. */
const INSPECT_TIMEOUT_MS = 60_000

/** The manifest (or index) of an image as the registry has it. */
export async function inspectRaw(image: string, options: SkopeoOptions): Promise<string> {
  const args = [...general(options), 'inspect', '--raw', ...access('', options), image]
  return explained(options, () => runTool('skopeo', args, { ...toolOptions(options), timeoutMs: INSPECT_TIMEOUT_MS }))
}

/** Copies an image into an OCI layout as its only one; `temporary` is a folder for what it unpacks meanwhile. */
export async function copyToLayout(
  image: string,
  layout: string,
  temporary: string,
  options: SkopeoOptions,
): Promise<void> {
  const flags = ['--retry-times', '2', '--dest-oci-accept-uncompressed-layers', ...access('src-', options)]
  const args = [...general(options), '--tmpdir', temporary, 'copy', ...flags, image, `oci:${layout}:image`]
  await explained(options, async () => {
    // Its progress goes to standard output.
    let line = ''
    for await (const chunk of pipeTool('skopeo', args, toolOptions(options))) {
      const lines = (line + chunk.toString('utf8')).split(/[\r\n]/)
      line = lines.pop() ?? ''
      for (const each of lines) if (each.trim() !== '') options.onLine?.(each.trim())
    }
  })
}

function general({ platform }: SkopeoOptions): string[] {
  const { os, architecture, variant } = platform
  const policies = ['/etc/containers/policy.json', join(homedir(), '.config/containers/policy.json')]
  return [
    // Where nobody set a policy up skopeo would refuse everything; where somebody did, it holds.
    ...(policies.some((path) => existsSync(path)) ? [] : ['--insecure-policy']),
    '--override-os',
    os,
    '--override-arch',
    architecture,
    ...(variant === undefined ? [] : ['--override-variant', variant]),
  ]
}

/** Credentials: skopeo reads those of `docker login` and `podman login`; of docker's variable for another place it knows nothing. */
function access(prefix: string, { tlsVerify, certificates }: SkopeoOptions): string[] {
  const dockerConfig = process.env['DOCKER_CONFIG']
  const authFile = dockerConfig && join(dockerConfig, 'config.json')
  return [
    ...(tlsVerify === undefined ? [] : [`--${prefix}tls-verify=${tlsVerify}`]),
    ...(certificates === undefined ? [] : [`--${prefix}cert-dir`, certificates]),
    ...(authFile && existsSync(authFile) ? [prefix === '' ? '--authfile' : '--src-authfile', authFile] : []),
  ]
}

/** What skopeo says, and what it means for the user; the first that fits. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [
    /manifest unknown|name unknown|not found: manifest|reading manifest .* 404/i,
    'the registry has no such image: check its name and tag',
  ],
  [
    /unauthorized|authentication required|denied|401/i,
    'the registry wants other credentials: run `docker login` for it',
  ],
  [/HTTP response to HTTPS client/i, 'the registry speaks http only: give `tlsVerify: false`'],
  [/x509|certificate/i, "its certificate is not trusted: give `certificates` the folder with the registry's ca.crt"],
  [
    /^$|connection refused|no such host|i\/o timeout|network is unreachable|no route to host/i,
    'nobody answers there: check the name, and that the registry runs',
  ],
]

async function explained<Result>(options: SkopeoOptions, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ImageError) || error.code !== 'ERR_IMAGE_COMMAND') throw error
    const words = String(error.cause)
    const last = lastMessage(words) || error.message
    if (/no image found in (manifest list|image index) for architecture/i.test(words)) {
      const message = `${options.name} has no image for ${formatPlatform(options.platform)}: choose another image, or give \`platform\``
      throw new ImageError('ERR_IMAGE_ARCHITECTURE', message, error)
    }
    const meaning = MEANINGS.find(([pattern]) => pattern.test(words))?.[1] ?? 'skopeo could not read it'
    throw new ImageError('ERR_IMAGE_REGISTRY', `${options.name} cannot be fetched: ${meaning} (${last})`, error)
  }
}

/** skopeo writes `time="…" level=fatal msg="…"`. */
function lastMessage(words: string): string {
  const line = words.split('\n').at(-1) ?? ''
  const quoted = /msg=("(?:[^"\\]|\\.)*")/.exec(line)?.[1]
  return quoted === undefined ? line : quoted.slice(1, -1).replaceAll('\\"', '"')
}

function toolOptions({ signal }: SkopeoOptions): ToolOptions {
  const whenMissing = 'install the package skopeo, or give an OCI layout (oci:/path) or a tarball'
  return { whenMissing, signal }
}
