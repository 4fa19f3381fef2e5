import { describe, expect, test } from 'vitest'
import { bannerOf } from '../../src/ssh/banner.ts'
import { listeningOn } from '../../src/ssh/gather-evidence.ts'

describe('the server’s version line', () => {
  test('is found at any split of its bytes, with the time of its first one', () => {
    const text = 'Welcome\r\nSSH-2.0-OpenSSH_9.2p1 Debian-2\r\n\0\0\0'
    for (let at = 1; at < text.length; at += 1) {
      const banner = bannerOf()
      const parts = [text.slice(0, at), text.slice(at)]
      const found = parts.map((part, index) => banner.take(Buffer.from(part), BigInt(index)))
      const line = found.find((one) => one !== undefined)
      expect(line?.text).toBe('SSH-2.0-OpenSSH_9.2p1 Debian-2')
      expect(line?.atNs).toBe(at >= 'Welcome\r\nSSH-'.length ? 0n : 1n)
      expect(banner.said).toBe('Welcome')
    }
  })

  test('does not come from a server that says something else', () => {
    const banner = bannerOf()
    expect(banner.take(Buffer.from('Not allowed at this time\r\n'), 1n)).toBe(undefined)
    expect(banner.said).toBe('Not allowed at this time')
  })

  test('is not looked for in a megabyte of something else', () => {
    const banner = bannerOf()
    banner.take(Buffer.alloc(1 << 20, 'x'), 1n)
    expect(banner.take(Buffer.from('\nSSH-2.0-late\r\n'), 2n)).toBe(undefined)
    expect(banner.said.length).toBe(500)
  })
})

test('sockets that listen are read from /proc/net/tcp and tcp6', () => {
  const text = `\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0F02000A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:0016 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0
  sl  local_address                         remote_address                        st tx_queue rx_queue
   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000
   1: 00000000000000000000000001000000:0019 00000000000000000000000000000000:0000 0A 00000000:00000000
   2: 000080FE00000000FF005450FE3412FF:0050 00000000000000000000000000000000:0000 0A 00000000:00000000
`
  expect(listeningOn(text)).toEqual([
    '0.0.0.0:22',
    '10.0.2.15:8080',
    '[::]:22',
    '[::1]:25',
    '[fe80::5054:ff:ff12:34fe]:80',
  ])
})
