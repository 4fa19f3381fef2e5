import { generateKeyPairSync, randomBytes } from 'node:crypto'

/** An ed25519 key pair, in memory only. */
export interface KeyPair {
  /** A line of authorized_keys (sshd(8), AUTHORIZED_KEYS FILE FORMAT). */
  readonly publicLine: string
  /** The private key as OpenSSH writes it (OpenSSH's PROTOCOL.key, openssh-key-v1). */
  readonly privateKey: string
}

const KEY_TYPE = 'ssh-ed25519'
const BLOCK_BYTES = 8

/**
 * Makes a key pair. ssh2 makes ed25519 keys too, but drops leading zero bytes of the public one: one pair in 256 is then no
 * key (mscdex/ssh2#1513).
 */
export function makeKeyPair(comment: string): KeyPair {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const [publicBytes, seed] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')]
  const publicBlob = Buffer.concat([field(KEY_TYPE), field(publicBytes)])
  // The same number twice: who decrypts a key sees by it whether the passphrase was right.
  const check = randomBytes(4)
  const secret = padded(
    Buffer.concat([
      check,
      check,
      field(KEY_TYPE),
      field(publicBytes),
      field(Buffer.concat([seed, publicBytes])),
      field(comment),
    ]),
  )
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    number(1),
    field(publicBlob),
    field(secret),
  ])
  const lines = file.toString('base64').match(/.{1,70}/g) ?? []
  return {
    publicLine: `${KEY_TYPE} ${publicBlob.toString('base64')} ${comment}`,
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
  }
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A string of RFC 4251, 5: its length, then its bytes. */
function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string)
  return Buffer.concat([number(bytes.length), bytes])
}

/** 1, 2, 3, … up to the next whole block. */
function padded(bytes: Buffer): Buffer {
  const missing = (BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES
  return Buffer.concat([bytes, Buffer.from(Array.from({ length: missing }, (_, index) => index + 1))])
}
