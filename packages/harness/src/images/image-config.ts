import type { ImageConfig } from './root-image.ts'

/** The execution parameters in an image's configuration (OCI image specification, config.md). */
export function imageConfig(value: unknown): ImageConfig {
  const config = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
  const text = (key: string): string | undefined => (typeof config[key] === 'string' && config[key]) || undefined
  const words = (key: string): string[] | undefined => {
    const items = config[key]
    return Array.isArray(items) ? items.filter((item): item is string => typeof item === 'string') : undefined
  }
  const variables = (words('Env') ?? []).map((pair): [string, string] => {
    const equals = pair.indexOf('=')
    return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
  })
  const [user, workdir, entrypoint, cmd] = [text('User'), text('WorkingDir'), words('Entrypoint'), words('Cmd')]
  return {
    env: Object.fromEntries(variables),
    ...(user !== undefined && { user }),
    ...(workdir !== undefined && { workdir }),
    ...(entrypoint !== undefined && { entrypoint }),
    ...(cmd !== undefined && { cmd }),
  }
}
