import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '../temporary-folder.ts'

/** A folder with a Dockerfile and what else is to be in it. */
export async function buildFolder(text: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'Dockerfile'), text)
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  return folder
}
