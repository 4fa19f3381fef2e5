import type { InitramfsFile } from '../images/index.ts'

/** Where units of a boot go: before those of packages (systemd.unit(5), UNIT FILE LOAD PATH). */
const folder = '/etc/systemd/system'

/**
 * The files of a boot's own units. A unit with an [Install] section is enabled as `systemctl enable` would do it; a name
 * with a folder (`ssh.service.d/limits.conf`) is a drop-in.
 */
export function unitFiles(units: Readonly<Record<string, string>>): InitramfsFile[] {
  return Object.entries(units).flatMap(([name, text]): InitramfsFile[] => {
    const path = `${folder}/${name}`
    if (name.includes('/')) return [{ path, data: text }]
    const links = wantedBy(text).map((place) => ({ path: `${folder}/${place}/${name}`, link: path }))
    const aliases = values(text, 'Alias').map((alias) => ({ path: `${folder}/${alias}`, link: path }))
    return [{ path, data: text }, ...links, ...aliases]
  })
}

function wantedBy(text: string): string[] {
  const wants = values(text, 'WantedBy').map((unit) => `${unit}.wants`)
  const requires = values(text, 'RequiredBy').map((unit) => `${unit}.requires`)
  return [...wants, ...requires]
}

/** The words of a setting of the [Install] section; an empty value forgets those before it (systemd.syntax(7)). */
function values(text: string, key: string): string[] {
  let section = ''
  let found: string[] = []
  for (const line of text.replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    section = /^\[(.+)\]\s*$/.exec(line.trim())?.[1] ?? section
    const value = section === 'Install' ? new RegExp(`^${key}\\s*=(.*)$`).exec(line.trim())?.[1]?.trim() : undefined
    if (value === undefined) continue
    found = value === '' ? [] : [...found, ...value.split(/\s+/)]
  }
  return found
}
