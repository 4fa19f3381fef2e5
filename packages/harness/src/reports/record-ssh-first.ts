import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { jobs, type NamedInput, sshFirst, type SshFirstInput, type SshFirstResult, SSH_FILE } from '@boxlab/probes'
import { systemdInputs } from '../systemd/record-texts.ts'

/**
 * When somebody can log in, from a record folder: of a box that lives or of one long gone. `options.ssh` stands for the
 * record's own file where only one call of many is meant.
 */
export function readSshFirst(
  record: string,
  options: Partial<Pick<SshFirstInput, 'ssh' | 'call'>> = {},
): SshFirstResult {
  const read = (name: string): Buffer | undefined => {
    const path = join(record, name)
    return existsSync(path) ? readFileSync(path) : undefined
  }
  const [ssh, clock, marks, boot] = [SSH_FILE, 'guest/clock.jsonl', 'marks.jsonl', 'boot.json'].map(read)
  return sshFirst({
    ssh: ssh ?? '',
    ...(clock && { clock }),
    ...(marks && { marks }),
    ...(boot && { boot }),
    ...queueOf(systemdInputs(record, ['jobs'])),
    ...options,
  })
}

/** What a recording of PID 1's queue has for logins; nothing where there is none. */
export function queueOf(recording: readonly NamedInput[]): Pick<SshFirstInput, 'jobs' | 'holes'> {
  if (recording.length === 0) return {}
  const found = jobs(recording)
  return found.found ? { jobs: found.jobs, holes: found.holes } : {}
}
