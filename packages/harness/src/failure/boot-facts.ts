import type { BootKind } from '@boxlab/probes'

/** What of boot.json matters here. All of it is absent until it was decided. */
export interface BootFacts {
  readonly kind?: BootKind
  readonly asked?: string
  readonly proved?: string
  readonly memoryMib?: number
  readonly kernel?: string
  readonly binary?: string
  readonly kvmPath?: string
  readonly pid?: number
  readonly reproduce?: string
}

/** Reads them from boot.json as it stands. */
export function bootFacts(file: Readonly<Record<string, unknown>> | undefined): BootFacts {
  const { plan, engine, accelerator } = (file ?? {}) as {
    readonly plan?: {
      readonly boot?: { readonly kind?: string; readonly kernel?: string }
      readonly memoryMib?: number
      readonly agent?: boolean
      readonly image?: unknown
      readonly engine?: { readonly binary?: string; readonly kvmPath?: string }
    }
    readonly engine?: { readonly binary?: string; readonly pid?: number; readonly reproduce?: string }
    readonly accelerator?: { readonly asked?: string; readonly proved?: string }
  }
  const kind = plan?.boot && kindOf(plan.boot.kind, plan.agent, plan.image)
  const binary = engine?.binary ?? plan?.engine?.binary
  return {
    ...(kind && { kind }),
    ...(accelerator?.asked !== undefined && { asked: accelerator.asked }),
    ...(accelerator?.proved !== undefined && { proved: accelerator.proved }),
    ...(plan?.memoryMib !== undefined && { memoryMib: plan.memoryMib }),
    ...(plan?.boot?.kernel !== undefined && { kernel: plan.boot.kernel }),
    ...(binary !== undefined && { binary }),
    ...(plan?.engine?.kvmPath !== undefined && { kvmPath: plan.engine.kvmPath }),
    ...(engine?.pid !== undefined && { pid: engine.pid }),
    ...(engine?.reproduce !== undefined && { reproduce: engine.reproduce }),
  }
}

function kindOf(how: string | undefined, agent: boolean | undefined, image: unknown): BootKind | undefined {
  if (how === 'firmware') return 'firmware'
  if (how !== 'direct' || agent === false) return 'agentless'
  return image === undefined ? 'bare' : 'image'
}
