import { BoxError } from '@boxlab/native'

/** The client: the package ssh2, loaded when the first login is asked for. Fails with ERR_BOX_TOOL_MISSING. */
export async function loadSsh2(): Promise<typeof import('ssh2')> {
  try {
    const loaded = await import('ssh2')
    // A CommonJS package: what its loader does not see of its names is on `default`.
    return (loaded as { readonly default?: typeof import('ssh2') }).default ?? loaded
  } catch (cause) {
    const message = '`sshFirst` needs the package ssh2, and it cannot be loaded: `npm install --save-dev ssh2`'
    throw new BoxError('ERR_BOX_TOOL_MISSING', message, {}, { cause })
  }
}
