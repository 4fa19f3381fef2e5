/** The parts of testcontainers' `StartedTestContainer` that are asked. */
export interface PublishedPorts {
  /** Where the engine's published ports are, as this host sees it. */
  getHost(): string
  /** The published port of one of the container's own. Throws when it is not published. */
  getMappedPort(port: number): number
}

/** Where a guest finds a server. */
export interface HostAddress {
  /** A name or an address. */
  readonly host: string
  readonly port: number
}

/** QEMU's user network gives the host this address (QEMU's manual, "Using the user mode network stack"). */
export const userNetworkHost = '10.0.2.2'

/**
 * Where a guest with `devices.net: 'user'` reaches a port of a running container. What is this host's loopback for us is the
 * network's own gateway for the guest; an engine elsewhere has the same address for both. Throws what `getMappedPort` throws.
 */
export function hostAddress(container: PublishedPorts, port: number): HostAddress {
  const host = container.getHost().replace(/^\[(.*)\]$/, '$1')
  const isLoopback = host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
  return { host: isLoopback ? userNetworkHost : host, port: container.getMappedPort(port) }
}
