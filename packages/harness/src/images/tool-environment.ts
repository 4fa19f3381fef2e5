import { delimiter } from 'node:path'

/** Where Debian has the makers of file systems, debugfs and depmod; a user's PATH lacks it. */
export const SYSTEM_FOLDERS: readonly string[] = ['/usr/sbin', '/sbin']

/** The environment of a tool: found as root would find it, in the language that its messages are read in. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  const { PATH, ...rest } = process.env
  const folders = [...(PATH === undefined ? [] : [PATH]), ...SYSTEM_FOLDERS]
  return { ...rest, PATH: folders.join(delimiter), LC_ALL: 'C' }
}
