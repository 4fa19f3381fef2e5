const XATTR_VERSION = 2
const DISK_VERSION = 1
/** Tags whose entries name somebody: ACL_USER and ACL_GROUP (include/uapi/linux/posix_acl.h). */
const NAMING_TAGS = [0x02, 0x08]

/**
 * An access control list as ext4 keeps it, from what getxattr(2) gives (posix_acl_xattr.h to fs/ext4/acl.h): entries that
 * name nobody have no id. Undefined when the bytes are no list.
 */
export function diskAcl(value: Buffer): Buffer | undefined {
  if (value.length < 4 || (value.length - 4) % 8 !== 0 || value.readUInt32LE(0) !== XATTR_VERSION) return undefined
  const parts: Buffer[] = [Buffer.from([DISK_VERSION, 0, 0, 0])]
  for (let at = 4; at < value.length; at += 8) {
    parts.push(value.subarray(at, at + (NAMING_TAGS.includes(value.readUInt16LE(at)) ? 8 : 4)))
  }
  return Buffer.concat(parts)
}
