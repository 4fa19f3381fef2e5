import { findProgram } from '../find-program.ts'
import { fileDigest } from './digest.ts'
import { ImageError } from './errors.ts'
import { SYSTEM_FOLDERS } from './tool-environment.ts'

/**
 * What stands for the version of a tool that decides the bytes of an image: its own digest, which takes a millisecond where
 * asking the tool may take hundreds. Fails with ERR_IMAGE_TOOL_MISSING.
 */
export async function toolDigest(tool: string, whenMissing: string): Promise<string> {
  const path = findProgram(tool, process.env, SYSTEM_FOLDERS)
  if (path !== undefined) return fileDigest(path)
  throw new ImageError('ERR_IMAGE_TOOL_MISSING', `${tool} is not installed: ${whenMissing}`)
}
