import { InvalidArgumentError } from 'commander'
import { container, dockerfile } from '../images/docker/index.ts'
import type { ImageSource } from '../images/root-image.ts'
import { debian, directory, disk, oci, tarball } from '../images/sources/index.ts'

const sources: Readonly<Record<string, (place: string) => ImageSource>> = {
  directory: (path) => directory(path),
  tarball: (path) => tarball(path),
  disk: (path) => disk(path),
  debian: (suite) => debian({ suite }),
  oci: (reference) => oci(reference),
  dockerfile: (folder) => dockerfile(folder),
  container: (image) => container(image),
}

/** Reads `KIND:PLACE`, such as `debian:trixie`, `directory:/srv/root` or `oci:localhost:5000/name:tag`. */
export function imageSourceOf(text: string): ImageSource {
  const colon = text.indexOf(':')
  const [kind, place] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)]
  const make = Object.hasOwn(sources, kind) ? sources[kind] : undefined
  if (make && place !== '') return make(place)
  const known = Object.keys(sources).join(', ')
  throw new InvalidArgumentError(`It must be KIND:PLACE, such as debian:trixie; the kinds are ${known}.`)
}
