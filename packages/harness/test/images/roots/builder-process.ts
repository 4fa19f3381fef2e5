// One builder as a process of its own, which kills itself at the beginning of a step:
//   node builder-process.ts CACHE REFERENCE FORMAT none|fetch|unpack|format|rename [UID]
// With UID it gives root up first. It prints the image, or the error's code and message, as one line of JSON.
import { oci, tarball } from '../../../src/images/sources/index.ts'
import type { RootFormat } from '../../../src/images/root-image.ts'

const [cacheRoot, reference, format, lastStep, uid] = process.argv.slice(2) as [
  string,
  string,
  RootFormat,
  string,
  string?,
]

if (uid !== undefined) {
  process.setgroups?.([])
  process.setgid?.(Number(uid))
  process.setuid?.(Number(uid))
}
const source = reference.startsWith('/') ? tarball(reference, { format }) : oci(reference, { format })
try {
  const image = await source.resolve({
    cacheRoot,
    progress: ({ step, detail, doneBytes }) => {
      if (detail !== undefined || doneBytes !== undefined) return
      process.stdout.write(`${step}\n`)
      if (step === lastStep) process.kill(process.pid, 'SIGKILL')
    },
  })
  process.stdout.write(`${JSON.stringify(image)}\n`)
} catch (error) {
  const { code, message } = error as Error & { code?: string }
  process.stdout.write(`${JSON.stringify({ code, message })}\n`)
}
