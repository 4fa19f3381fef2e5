export { container, type ContainerOptions } from './container.ts'
export { dockerfile, type DockerfileOptions } from './dockerfile.ts'
export { hostAddress, type HostAddress, type PublishedPorts } from './neighbour.ts'
export { type EngineSweep, type EngineSweepOptions, sweepEngine } from './leftovers.ts'
