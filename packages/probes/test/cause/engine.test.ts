import { describe, expect, it } from 'vitest'
import { type BootEvidence, type CauseId, likelyCause, likelyCauses } from '../../src/index.ts'

const died: BootEvidence = { code: 'ERR_BOX_ENGINE_EXITED', exit: { code: 1 } }

// What QEMU 7.2.22 wrote when the cause was given to it on a real host.
const MEASURED: readonly (readonly [CauseId, string])[] = [
  [
    'no-kvm',
    'Could not access KVM kernel module: No such file or directory\n' +
      'qemu-system-x86_64: -accel kvm: failed to initialize kvm: No such file or directory\n',
  ],
  [
    'no-kvm',
    'Could not access KVM kernel module: Permission denied\n' +
      'qemu-system-x86_64: -accel kvm: failed to initialize kvm: Permission denied\n',
  ],
  [
    'no-kvm',
    'kvm version too old\nqemu-system-x86_64: -accel kvm: failed to initialize kvm: Inappropriate ioctl for device\n',
  ],
  [
    'port-or-file-busy',
    'qemu-system-x86_64: -device virtio-blk-pci,drive=a: Failed to get "write" lock\n' +
      'Is another process using the image [d.img]?\n',
  ],
  [
    'port-or-file-busy',
    'qemu-system-x86_64: -qmp tcp:127.0.0.1:22223,server=on,wait=off: Failed to find an available port: Address already in use\n',
  ],
  [
    'port-or-file-busy',
    'qemu-system-x86_64: cannot create PID file: Cannot lock pid file: Resource temporarily unavailable\n',
  ],
  [
    'port-or-file-busy',
    "qemu-system-x86_64: -netdev user,id=n,hostfwd=tcp:127.0.0.1:22223-:22: Could not set up host forwarding rule 'tcp:127.0.0.1:22223-:22'\n",
  ],
  ['no-host-memory', "qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory\n"],
  ['no-host-memory', 'qemu-system-x86_64: unable to map backing store for guest RAM: Cannot allocate memory\n'],
  ['no-host-memory', 'qemu-system-x86_64: qemu_prealloc_mem: preallocating memory failed: Bad address\n'],
  ['not-a-kernel', 'qemu: invalid kernel header\n'],
  ['not-a-kernel', 'qemu-system-x86_64: Error while loading elf kernel\n'],
  ['missing-file', "qemu: could not open kernel file '/nope': No such file or directory\n"],
  ['missing-file', "qemu: could not load PC BIOS '/nope'\n"],
  [
    'missing-file',
    "qemu-system-x86_64: -drive file=/nope,if=none,id=a: Could not open '/nope': No such file or directory\n",
  ],
  ['bad-engine-option', 'qemu-system-x86_64: -foo: invalid option\n'],
  ['bad-engine-option', 'qemu-system-x86_64: unsupported machine type\nUse -machine help to list supported machines\n'],
  ['bad-engine-option', "qemu-system-x86_64: unable to find CPU model 'nosuch'\n"],
  ['bad-engine-option', "qemu-system-x86_64: -device nosuch: 'nosuch' is not a valid device model name\n"],
  [
    'bad-engine-option',
    "qemu-system-x86_64: -device virtio-blk-pci,drive=nope: Property 'virtio-blk-device.drive' can't find value 'nope'\n",
  ],
  ['bad-engine-option', "qemu-system-x86_64: -device virtio-rng-pci,foo=1: Property 'virtio-rng-pci.foo' not found\n"],
  ['bad-engine-option', 'qemu-system-x86_64: -accel nosuch: invalid accelerator nosuch\n'],
  [
    'bad-engine-option',
    "qemu-system-x86_64: Invalid SMP CPUs 300. The max CPUs supported by machine 'pc-i440fx-7.2' is 255\n",
  ],
  ['bad-engine-option', "qemu-system-x86_64: -netdev nosuch,id=z: Parameter 'type' does not accept value 'nosuch'\n"],
  ['bad-engine-option', "qemu-system-x86_64: -m 99999999T: Value '99999999T' is out of range for parameter 'size'\n"],
]

// After its sources and public logs.
const ELSEWHERE: readonly (readonly [CauseId, string])[] = [
  ['no-kvm', 'qemu-system-x86_64: failed to initialize KVM: Device or resource busy\n'],
  ['no-kvm', 'qemu-system-x86_64: -accel kvm: invalid accelerator kvm\n'],
  ['no-kvm', 'ioctl(KVM_CREATE_VM) failed: 16 Device or resource busy\n'],
  [
    'port-or-file-busy',
    'qemu-system-x86_64: -drive file=d.img: Failed to get shared "write" lock\nIs another process using the image [d.img]?\n',
  ],
  ['disk-full', 'qemu-system-x86_64: -drive file=o.qcow2: Could not write refcount: No space left on device\n'],
  ['bad-engine-option', 'qemu-system-x86_64: -drive file=x,format=qcow2: Image is not in qcow2 format\n'],
  ['emulated-kvm', 'KVM internal error. Suberror: 1\nemulation failure\nRAX=0000000000000000 RBX=0000000000000000\n'],
]

const ENGINE_LOGS = [...MEASURED, ...ELSEWHERE]

describe('the words of QEMU', () => {
  it.each(ENGINE_LOGS)('%s: %s', (id, engineLog) => {
    const cause = likelyCause({ ...died, engineLog })
    expect(cause?.id).toBe(id)
    expect(cause?.evidence).toMatchObject({ source: 'engine-log', line: 1, text: engineLog.split('\n')[0] })
  })

  it.each(ENGINE_LOGS)('with a timestamp, %s: %s', (id, log) => {
    const engineLog = `first line\n2026-11-30T23:14:02.123456Z ${log}`
    expect(likelyCause({ ...died, engineLog })).toMatchObject({ id, evidence: { line: 2 } })
  })

  it('say which remedy helps against KVM that is missing, forbidden or taken', () => {
    const remedyOf = (why: string): string | undefined =>
      likelyCause({ engineLog: `Could not access KVM kernel module: ${why}` })?.remedy
    expect(remedyOf('Permission denied')).toContain('group kvm')
    expect(remedyOf('No such file or directory')).toContain('nested virtualization')
    expect(remedyOf('Device or resource busy')).toContain('hypervisor')
  })

  it.each([
    'qemu-system-x86_64: warning: netdev a has no peer',
    'qemu-system-x86_64: -trace nosuch: warning: trace event is not a valid name',
    "qemu-system-x86_64: warning: 'x' is not a valid thing",
    'qemu-system-x86_64: terminating on signal 15 from pid 7112 (timeout)',
    'KVM internal error. Suberror: 3',
    'an option was said to be invalid option or so',
    'audio: Could not open /dev/dsp',
  ])('%s: explains nothing', (engineLog) => {
    expect(likelyCauses({ ...died, engineLog })).toEqual([])
  })

  it('about KVM count for nothing when the engine went on with TCG', () => {
    const engineLog =
      'Could not access KVM kernel module: No such file or directory\nqemu-system-x86_64: falling back to tcg\n'
    expect(likelyCauses({ engineLog, accelerator: { asked: 'auto', proved: 'tcg' } })).toEqual([])
    expect(likelyCause({ engineLog, accelerator: { asked: 'kvm', proved: 'tcg' } })?.id).toBe('no-kvm')
  })

  it('about an instruction that KVM cannot emulate are not blamed on a KVM that runs guests natively', () => {
    expect(likelyCauses({ engineLog: 'KVM internal error. Suberror: 1\n', kvmVerdict: 'native' })).toEqual([])
  })
})

describe('the accelerator', () => {
  it.each<[string, BootEvidence]>([
    ['another one runs', { code: 'ERR_BOX_ACCELERATOR', accelerator: { asked: 'kvm', proved: 'tcg' } }],
    ['the preflight says no', { ...died, accelerator: { asked: 'kvm' }, kvmVerdict: 'unusable' }],
    ['the plan refused it', { code: 'ERR_BOX_ACCELERATOR', accelerator: { asked: 'kvm' }, kvmVerdict: 'unusable' }],
  ])('is the cause where kvm was asked for and %s', (_, evidence) => {
    expect(likelyCause(evidence)).toMatchObject({ id: 'no-kvm', confidence: 'inferred', evidence: { source: 'fact' } })
  })

  it.each<[string, BootEvidence]>([
    ['tcg was asked for', { ...died, accelerator: { asked: 'tcg' }, kvmVerdict: 'unusable' }],
    ['auto took tcg', { ...died, accelerator: { asked: 'auto', proved: 'tcg' }, kvmVerdict: 'unusable' }],
    ['kvm runs', { code: 'ERR_BOX_POWERED_OFF', accelerator: { asked: 'kvm', proved: 'kvm' }, kvmVerdict: 'emulated' }],
    ['nobody looked', { ...died, accelerator: { asked: 'kvm' } }],
  ])('is no cause where %s', (_, evidence) => {
    expect(likelyCauses(evidence)).toEqual([])
  })
})

describe('a kvm that was refused before the start', () => {
  const refused: BootEvidence = { code: 'ERR_BOX_ACCELERATOR', accelerator: { asked: 'kvm' } }

  it('for emulating guest kernels is not one that is missing', () => {
    const causes = likelyCauses({ ...refused, kvmVerdict: 'emulated' })
    expect(causes.map(({ id }) => id)).toEqual(['emulated-kvm'])
    expect(causes[0]?.confidence).toBe('said')
  })

  it('is none of another accelerator, nor of an engine that ended', () => {
    expect(likelyCauses({ ...refused, accelerator: { asked: 'tcg' }, kvmVerdict: 'emulated' })).toEqual([])
    expect(likelyCauses({ ...died, accelerator: { asked: 'kvm' }, kvmVerdict: 'emulated' })).toEqual([])
  })
})

describe('a kernel file that was refused before the start', () => {
  const refusal = (why: string): BootEvidence => ({
    code: 'ERR_IMAGE_KERNEL',
    message: `The \`kernel\` option /k/vmlinux cannot be used: ${why}`,
  })

  it.each<[CauseId, string]>([
    ['not-a-kernel', 'it is not an x86 Linux kernel (neither a bzImage boot header nor ELF)'],
    ['not-a-kernel', 'it is ELF without a PVH entry: build it with CONFIG_PVH=y, or give the bzImage'],
    ['not-a-kernel', 'it is not a file: name the kernel file itself, such as /boot/vmlinuz-6.1.0'],
    ['missing-file', 'there is no such file'],
    ['missing-file', 'it cannot be read by this user'],
  ])('%s: %s', (id, why) => {
    expect(likelyCause(refusal(why))).toMatchObject({ id, evidence: { source: 'message' } })
    expect(likelyCause(refusal(why))?.sentence).toContain('/k/vmlinux')
    // Only the harness refuses files: a guest may print the same.
    expect(likelyCauses({ ...refusal(why), code: 'ERR_BOX_REFUSED' })).toEqual([])
  })

  it('for its machine is explained by the architectures', () => {
    const arm = { ...refusal('it is ELF for machine 183, not for x86-64'), engineArch: 'x86_64' }
    expect(likelyCauses(arm)).toEqual([])
    const [cause] = likelyCauses({ ...arm, kernelArch: 'aarch64' })
    expect(cause?.id).toBe('wrong-architecture')
    expect(cause?.sentence).toContain('the kernel is for aarch64 and the engine emulates x86_64')
  })
})

describe('an engine killed by SIGKILL', () => {
  const killed: BootEvidence = { code: 'ERR_BOX_ENGINE_EXITED', exit: { signal: 9 }, memoryMib: 512 }
  const kernelLog =
    '[1234.500000] Out of memory: Killed process 77 (qemu-system-x86) total-vm:1964320kB, anon-rss:1945880kB\n' +
    '[1235.600000] Out of memory: Killed process 4242 (qemu-system-x86) total-vm:1964320kB, anon-rss:1945880kB\n'

  it('was killed for memory where the host says so, and its own line is the evidence', () => {
    expect(likelyCause({ ...killed, enginePid: 4242, host: { kernelLog } })).toMatchObject({
      id: 'engine-oom-killed',
      confidence: 'said',
      evidence: { source: 'host-log', line: 2 },
    })
    expect(likelyCause({ ...killed, host: { kernelLog } })?.evidence.line).toBe(1)
  })

  it('was not if the host killed other engines', () => {
    expect(likelyCauses({ ...killed, enginePid: 424, host: { kernelLog } })).toEqual([])
    expect(likelyCauses({ ...killed, host: { kernelLog: kernelLog.replaceAll('qemu-system-x86', 'chrome') } })).toEqual(
      [],
    )
  })

  it('was not if the line is older than the box: the host counted no kill since', () => {
    expect(likelyCauses({ ...killed, host: { kernelLog, oomKills: 0 } })).toEqual([])
    expect(likelyCause({ ...killed, host: { kernelLog, oomKills: 1 } })?.confidence).toBe('said')
  })

  it('was killed inside a cgroup, as a recording of 6.18 says it', () => {
    const cgroupLog =
      'Memory cgroup out of memory: Killed process 8098 (qemu-system-x86) total-vm:1885868kB, anon-rss:62952kB, ' +
      'file-rss:26560kB, shmem-rss:0kB, UID:0 pgtables:320kB oom_score_adj:0'
    expect(likelyCause({ ...killed, host: { kernelLog: cgroupLog, oomKills: 1 } })).toMatchObject({
      id: 'engine-oom-killed',
      confidence: 'said',
    })
  })

  it.each<[string, BootEvidence]>([
    ['a kill was counted', { host: { oomKills: 1 } }],
    ['there was less memory than the guest has', { host: { availableMib: 300 } }],
  ])('was most likely killed for memory if %s', (_, facts) => {
    expect(likelyCause({ ...killed, ...facts })).toMatchObject({ id: 'engine-oom-killed', confidence: 'inferred' })
  })

  it.each<[string, BootEvidence]>([
    ['nothing is known of the host', {}],
    ['there was memory enough', { host: { availableMib: 20_000 } }],
    ['kills were counted and there were none', { host: { oomKills: 0, availableMib: 300 } }],
    ['its owner killed it', { code: 'ERR_BOX_KILLED', host: { oomKills: 1, kernelLog } }],
    ['it was stopped at its deadline', { code: 'ERR_BOX_TIMEOUT', host: { oomKills: 1, availableMib: 1 } }],
    ['it was another signal', { exit: { signal: 11 }, host: { oomKills: 1, availableMib: 1 } }],
  ])('was not if %s', (_, facts) => {
    expect(likelyCauses({ ...killed, ...facts })).toEqual([])
  })
})

describe('the host', () => {
  it('has a full disk if the record could not be written for it', () => {
    const message = 'the record at /r/marks.jsonl could not be written: No space left on device (os error 28)'
    expect(likelyCause({ code: 'ERR_BOX_RECORD', message })).toMatchObject({
      id: 'disk-full',
      evidence: { source: 'message', text: message },
    })
  })

  it('has no full disk if a program in the guest says so', () => {
    const message = '/tmp/x: No space left on device'
    expect(likelyCauses({ code: 'ERR_BOX_REFUSED', message })).toEqual([])
    expect(likelyCause({ code: 'ERR_BOX_REFUSED', message, errno: 28 })?.sentence).toContain('guest')
  })

  it.each([
    ['aarch64', 'x86_64', true],
    ['arm64', 'AARCH64', false],
    ['amd64', 'x86_64', false],
    ['i386', 'x86_64', false],
    ['x86_64', 'i386', true],
  ])('a kernel for %s in an engine for %s: %s', (kernelArch, engineArch, wrong) => {
    expect(likelyCause({ kernelArch, engineArch })?.id).toBe(wrong ? 'wrong-architecture' : undefined)
  })
})
