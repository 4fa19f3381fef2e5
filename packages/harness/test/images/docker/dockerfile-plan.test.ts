import { describe, expect, test } from 'vitest'
import { planDockerfile, withLabels } from '../../../src/images/docker/dockerfile-plan.ts'
import { readInstructions } from '../../../src/images/docker/instructions.ts'

describe('instructions', () => {
  test('go over several lines, with comments and empty lines between them', () => {
    const text = '# a comment\nfrom debian:trixie \\\n  as  one\n\nRUN first && \\\n# why\n\n  second\nCMD true'
    expect(readInstructions(text)).toEqual([
      { keyword: 'FROM', text: 'debian:trixie   as  one', lastLine: 2 },
      { keyword: 'RUN', text: 'first &&   second', lastLine: 7 },
      { keyword: 'CMD', text: 'true', lastLine: 8 },
    ])
  })

  test('go on after a backquote where a directive says so', () => {
    expect(readInstructions('# escape=`\r\nFROM a `\r\n  AS b\r\nCOPY c:\\ d\r\n').map(({ text }) => text)).toEqual([
      'a   AS b',
      'c:\\ d',
    ])
  })

  test('end with the file, also after a backslash', () => {
    expect(readInstructions('FROM a\nRUN b \\\n# c')).toHaveLength(2)
    expect(readInstructions('FROM a\nRUN b \\')).toHaveLength(2)
    expect(readInstructions('')).toEqual([])
  })
})

describe('a plan', () => {
  test('has the images of stages and copies, each once, and none for a stage or nothing', () => {
    const text = [
      'FROM --platform=linux/amd64 debian:trixie AS Build',
      'FROM build AS other',
      'COPY --from=build /a /a',
      'COPY --from=0 /a /b',
      'COPY --chown=1:1 --from=busybox:1 /bin /bin',
      'FROM scratch',
      'COPY --from=busybox:1 /bin /bin',
    ].join('\n')
    expect(planDockerfile(text)).toEqual({ images: ['debian:trixie', 'busybox:1'], stageLines: [0, 1, 5] })
  })

  test('ends with its target, by name or number', () => {
    const text = 'FROM a AS one\nFROM b AS two\nFROM c\n'
    expect(planDockerfile(text, { target: 'TWO' }).images).toEqual(['a', 'b'])
    expect(planDockerfile(text, { target: '0' }).images).toEqual(['a'])
    expect(planDockerfile(text, { target: 'nothing' }).images).toEqual(['a', 'b', 'c'])
  })

  test('knows the variables of arguments before the first stage, and what is given for them', () => {
    const text =
      'ARG SUITE=trixie\nARG NAME="debian"\nARG KIND\nFROM ${NAME}:$SUITE${KIND:+-slim}\nFROM x:${KIND:-none}\nARG SUITE=late\n'
    expect(planDockerfile(text).images).toEqual(['debian:trixie', 'x:none'])
    expect(planDockerfile(text, { buildArgs: { SUITE: 'sid', KIND: 'k' } }).images).toEqual(['debian:sid-slim', 'x:k'])
  })

  test.for([
    ['FROM a:$WHAT', 'its FROM a:$WHAT has a variable that is not known here'],
    ['FROM a\nADD https://example.test/x /x', 'its ADD fetches https://example.test/x'],
    ['FROM a\nADD --chown=1:1 ["http://example.test/x", "/x"]', 'its ADD fetches --chown=1:1'],
    ['FROM a\nADD https://example.test/x.git#main /x', 'its ADD fetches https://example.test/x.git#main'],
    ['FROM a\nADD archive.tar /x', undefined],
    ['FROM a\nRUN fetch https://example.test/x', undefined],
  ] as const)('of %j tells what equal input does not decide', ([text, outside]) => {
    expect(planDockerfile(text).outside).toBe(outside)
  })
})

test('labels come first in every stage, whatever is around it', () => {
  const text = '# escape=\\\nFROM a \\\n AS b\nRUN c\nFROM b'
  expect(withLabels(text, planDockerfile(text), { 'x.y': 'a "b"', z: '1' })).toBe(
    '# escape=\\\nFROM a \\\n AS b\nLABEL "x.y"="a \\"b\\"" "z"="1"\nRUN c\nFROM b\nLABEL "x.y"="a \\"b\\"" "z"="1"',
  )
})
