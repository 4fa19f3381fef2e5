import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { blockFault, markedBlocks, regionOf } from '../docs/examples.ts'

const source = `import { test } from 'vitest'

test('boots', () => {
  // #region body
  const box = boot()
  // #region inner
  box.stop()
  // #endregion
  // #endregion
})
`

/** Runs the gate over a folder with these files. */
function check(files: Readonly<Record<string, string>>): { code: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const script = join(import.meta.dirname, '../docs-check.ts')
  const run = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' })
  return { code: run.status, output: run.stdout + run.stderr }
}

describe('a marked code block', () => {
  test('is found with its line, path and region', () => {
    const markdown = 'Text\n<!-- from: a.ts#body -->\n\n```ts\nconst box = boot()\nbox.stop()\n```\n'
    expect(markedBlocks(markdown)).toEqual([
      { line: 2, path: 'a.ts', region: 'body', text: 'const box = boot()\nbox.stop()' },
    ])
  })

  test('may stand in a list, and its indent is not part of it', () => {
    expect(markedBlocks('- item\n  <!-- from: a.ts -->\n  ```ts\n  one\n    two\n  ```\n')).toEqual([
      { line: 2, path: 'a.ts', text: 'one\n  two' },
    ])
  })

  test('that is itself shown inside a code block is no mark', () => {
    expect(markedBlocks('````md\n<!-- from: a.ts -->\n```ts\n```\n````\n')).toEqual([])
  })

  test('without a mark is nobody’s business', () => {
    expect(markedBlocks('```ts\nanything()\n```\n')).toEqual([])
  })
})

describe('a region', () => {
  test('is moved to the left edge, with the marks of inner regions left out', () => {
    expect(regionOf(source, 'body')).toBe('const box = boot()\nbox.stop()')
    expect(regionOf(source, 'inner')).toBe('box.stop()')
  })

  test('that is not there or never ends is not found', () => {
    expect(regionOf(source, 'other')).toBeUndefined()
    expect(regionOf('// #region open\nx', 'open')).toBeUndefined()
  })

  test('may be marked in a comment of any language', () => {
    expect(regionOf('# #region run\nnpm test\n# #endregion\n', 'run')).toBe('npm test')
  })
})

describe('the fault of a block', () => {
  const block = { line: 1, path: 'a.ts', region: 'body', text: 'const box = boot()\nbox.stop()' }

  test('is none when it shows its source', () => {
    expect(blockFault(block, source)).toBeUndefined()
    expect(blockFault({ line: 1, path: 'a.ts', text: source }, source)).toBeUndefined()
  })

  test('names the first line that differs', () => {
    expect(blockFault({ ...block, text: 'const box = boot()\nbox.kill()' }, source)).toBe(
      'differs from a.ts#body in line 2 of the block: it has "box.kill()", the file "box.stop()"',
    )
  })

  test('is seen when the block is shorter or longer than its source', () => {
    expect(blockFault({ ...block, text: 'const box = boot()' }, source)).toContain('it has no such line')
    expect(blockFault({ ...block, text: `${block.text}\nmore()` }, source)).toContain('the file no such line')
  })

  test('says what is missing: the block, the file or the region', () => {
    expect(blockFault({ ...block, text: undefined }, source)).toContain('no code block follows')
    expect(blockFault(block, undefined)).toBe('shows a.ts, which is not there')
    expect(blockFault({ ...block, region: 'other' }, source)).toContain('has no region of this name')
  })
})

describe('the gate', () => {
  test('passes over documents that show their sources', () => {
    const run = check({
      'README.md': '<!-- from: examples/a.ts#body -->\n```ts\nconst box = boot()\nbox.stop()\n```\n',
      'docs/deep/page.md': '<!-- from: examples/b.sh -->\n```sh\nnpm test\n```\n',
      'examples/a.ts': source,
      'examples/b.sh': 'npm test\n',
    })
    expect(run).toEqual({ code: 0, output: '2 code blocks compared in 2 documents, 0 differ.\n' })
  })

  test('fails over one that does not, with the place', () => {
    const run = check({ 'docs/page.md': 'Text\n<!-- from: gone.ts -->\n```ts\nx\n```\n' })
    expect(run.code).toBe(1)
    expect(run.output).toContain('docs/page.md:2 shows gone.ts, which is not there.')
  })
})
