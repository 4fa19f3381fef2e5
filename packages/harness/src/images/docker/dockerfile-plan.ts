import { type Instruction, readInstructions } from './instructions.ts'

/** What a Dockerfile needs, and what is built of it. */
export interface DockerfilePlan {
  /** Images that its stages begin with or copy from, each once. */
  readonly images: readonly string[]
  /** Why equal input may not give equal output, where something outside is read. */
  readonly outside?: string
  /** Lines after which a stage has just begun, from 0. */
  readonly stageLines: readonly number[]
}

/** How it is built. */
export interface DockerfileChoice {
  readonly target?: string
  readonly buildArgs?: Readonly<Record<string, string>>
}

/** Reads a Dockerfile up to its target. Whether it is right is for the engine to say. */
export function planDockerfile(dockerfile: string, { target, buildArgs = {} }: DockerfileChoice = {}): DockerfilePlan {
  const variables = new Map<string, string>()
  const stages: string[] = []
  const images = new Set<string>()
  const stageLines: number[] = []
  let outside: string | undefined
  const addImage = (reference: string | undefined, what: string): void => {
    if (reference === undefined) outside ??= what
    else if (!isStage(reference, stages) && reference !== 'scratch') images.add(reference)
  }
  for (const instruction of readInstructions(dockerfile)) {
    const { keyword, text, lastLine } = instruction
    if (keyword === 'FROM') {
      if (isReached(target, stages)) break
      const [, image = '', stage = ''] = /^(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?/i.exec(text) ?? []
      addImage(expand(image, variables), `its FROM ${image} has a variable that is not known here`)
      stages.push(stage.toLowerCase())
      stageLines.push(lastLine)
    } else if (keyword === 'ARG' && stages.length === 0) declare(text, variables, buildArgs)
    else if (keyword === 'COPY') {
      const from = /(?:^|\s)--from=(\S+)/.exec(text)?.[1]
      if (from !== undefined) addImage(from, '')
    } else if (readsOutside(instruction)) outside ??= `its ADD fetches ${text.split(/\s/)[0]}`
  }
  return { images: [...images], stageLines, ...(outside !== undefined && { outside }) }
}

/** The Dockerfile with labels on every stage, so that whatever is made of it has them. */
export function withLabels(
  dockerfile: string,
  { stageLines }: Pick<DockerfilePlan, 'stageLines'>,
  labels: Readonly<Record<string, string>>,
): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${JSON.stringify(name)}=${JSON.stringify(value)}`)
  const lines = dockerfile.split('\n')
  for (const line of stageLines.toReversed()) lines.splice(line + 1, 0, `LABEL ${pairs.join(' ')}`)
  return lines.join('\n')
}

function isStage(reference: string, stages: readonly string[]): boolean {
  return stages.includes(reference.toLowerCase()) || (/^\d+$/.test(reference) && Number(reference) < stages.length)
}

function isReached(target: string | undefined, stages: readonly string[]): boolean {
  return (
    target !== undefined &&
    stages.length > 0 &&
    (isStage(target, stages.slice(-1)) || target === String(stages.length - 1))
  )
}

/** `ARG NAME` or `ARG NAME=value`, several in newer files. */
function declare(text: string, variables: Map<string, string>, buildArgs: Readonly<Record<string, string>>): void {
  for (const [, name = '', value] of text.matchAll(/(\w+)(?:=("[^"]*"|'[^']*'|\S*))?/g)) {
    const given =
      buildArgs[name] ?? (value === undefined ? undefined : expand(value.replace(/^(["'])(.*)\1$/, '$2'), variables))
    if (given !== undefined) variables.set(name, given)
  }
}

/** `$NAME`, `${NAME}`, `${NAME:-word}` and `${NAME:+word}`; undefined where a variable is not known. */
function expand(text: string, variables: ReadonlyMap<string, string>): string | undefined {
  let isKnown = true
  const expanded = text.replaceAll(
    /\$(?:(\w+)|\{(\w+)(?::([-+])([^}]*))?\})/g,
    (_all, bare?: string, braced?: string, operator?: string, word = '') => {
      const value = variables.get(bare ?? braced ?? '')
      if (operator === '-') return value || String(word)
      if (operator === '+') return value ? String(word) : ''
      isKnown &&= value !== undefined
      return value ?? ''
    },
  )
  return isKnown && !expanded.includes('$') && expanded !== '' ? expanded : undefined
}

/** An ADD of something that is not in the folder. */
function readsOutside({ keyword, text }: Instruction): boolean {
  return keyword === 'ADD' && /(^|[\s"[])(https?:\/\/|git@|\S+\.git(#|\s|$))/.test(text)
}
