import { readFileSync } from 'node:fs'
import type { BootEvidence } from '@boxlab/probes'

const recordings = new URL('../../packages/probes/test/fixtures/console/', import.meta.url)

/** What holds a cause that no boot on this host shows. */
export interface Fixture {
  /** The error as it would come. */
  readonly code: string
  readonly message: string
  /** What is known about the boot beside that. */
  readonly evidence: BootEvidence
}

const late = { code: 'ERR_BOX_TIMEOUT', message: '`agent-ready` did not come within 60000 ms' }

/** Causes that need a guest we do not boot here: the page shows these. */
export const alwaysFixtures: Readonly<Record<string, Fixture>> = {
  'guest-oops': { ...late, evidence: { console: readFileSync(new URL('linux-6.1-null.console', recordings)) } },
  'emergency-shell': {
    ...late,
    evidence: {
      console:
        '[FAILED] Failed to mount srv.mount - /srv.\r\n[DEPEND] Dependency failed for local-fs.target - Local File Systems.\r\n' +
        'You are in emergency mode. After logging in, type "journalctl -xb" to view\r\n' +
        'system logs, "systemctl reboot" to reboot, or "exit"\r\nto continue bootup.\r\n',
    },
  },
}

/** Causes that a boot shows where the host can have them; elsewhere these stand for it. */
export const hostFixtures: Readonly<Record<string, Fixture>> = {
  'emulated-kvm': {
    code: 'ERR_BOX_ACCELERATOR',
    message: '',
    evidence: { accelerator: { asked: 'kvm' }, kvmVerdict: 'emulated' },
  },
  'engine-oom-killed': {
    code: 'ERR_BOX_ENGINE_EXITED',
    message: '',
    evidence: {
      exit: { signal: 9 },
      host: {
        kernelLog:
          'Memory cgroup out of memory: Killed process 8098 (qemu-system-x86) total-vm:1885868kB, anon-rss:62952kB',
      },
    },
  },
  'disk-full': {
    code: 'ERR_BOX_RECORD',
    message: 'the record could not be written (/r/boot.json: No space left on device (os error 28)), so it has a hole',
    evidence: {},
  },
}
