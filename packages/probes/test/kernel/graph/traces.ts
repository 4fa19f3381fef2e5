import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { graph, type GraphReport, type GraphResult } from '../../../src/index.ts'

/** A recording of the fixtures, unpacked. */
export function recording(name: string): string {
  return gunzipSync(readFileSync(new URL(`fixtures/${name}.gz`, import.meta.url))).toString('utf8')
}

/** One section of a recording with many, such as `D proc+abstime+tail+overrun`. */
export function section(text: string, name: string): string {
  const at = text.indexOf(`##### ${name}\n`)
  const end = text.indexOf('\n##### ', at + 1)
  return text.slice(at, end === -1 ? text.length : end + 1)
}

/** The functions of one text. */
export function graphOf(input: string): GraphResult {
  return graph([{ name: 'trace', input }])
}

/** The same where there must be some. */
export function reportOf(input: string): GraphReport {
  const result = graphOf(input)
  if (!result.found) throw new Error(result.message)
  return result
}

/** The header that the kernel prints for its default columns. */
export const HEADER = `# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
`

/** A block of lines in which the kernel says that another task's come. */
export function switchBlock(cpu: number, left: string, right: string): string {
  const dashes = ' ------------------------------------------\n'
  return `${dashes} ${cpu})  ${left}   =>  ${right}  \n${dashes}\n`
}
