import { isCount, isObject, isText, type JsonObject } from '../input/fields.ts'
import { isStatValue, type Place, takeSchemas } from './read-qmp.ts'
import { compareIds, type StatValue, vcpuId } from './stats.ts'

/** Takes a line of a record's counters.jsonl (schema/record-v1.schema.json). False for a value that is none. */
export function takeCountersLine(value: JsonObject, place: Place): boolean {
  switch (value['kind']) {
    case 'process':
      return true
    case 'kvm':
      takeSample(value, place)
      return true
    case 'kvm-schema':
      takeSchemaLine(value, place)
      return true
    case 'kvm-none':
      if (isText(value['why'])) {
        const { why, mark } = value
        place.said.none.push({ why, ...(isText(mark) && { mark }) })
        if (/^the accelerator is tcg\b/.test(why)) place.said.accel = 'tcg'
      } else place.problems.add('bad-value', place.line, 'why')
      return true
    default:
      return false
  }
}

function takeSchemaLine({ engine, kicks, schemas, askedNs, atNs }: JsonObject, place: Place): void {
  const { said, problems, line } = place
  if (isText(engine)) said.engine = engine
  if (typeof kicks === 'boolean') said.kicks = kicks
  if (isCount(askedNs) && isCount(atNs) && atNs >= askedNs) said.schemaNs = atNs - askedNs
  if (!Array.isArray(schemas)) return problems.add('bad-value', line, 'schemas')
  for (const entry of schemas) {
    const { target, stats }: JsonObject = isObject(entry) ? entry : {}
    if ((target === 'vcpu' || target === 'vm') && Array.isArray(stats)) takeSchemas(stats, target, place)
  }
}

function takeSample(value: JsonObject, place: Place): void {
  const { atNs, askedNs, mark, marks, vcpus } = value
  const named = Array.isArray(marks) ? marks.filter(isText) : isText(mark) ? [mark] : []
  const vm = valuesOf(value['values'], place)
  const each = (Array.isArray(vcpus) ? vcpus : []).flatMap((one) => {
    const { index, values }: JsonObject = isObject(one) ? one : {}
    if (isCount(index)) return [{ id: vcpuId(index), values: valuesOf(values, place) }]
    place.problems.add('bad-value', place.line, 'vcpus')
    return []
  })
  place.into.addWhole({
    label: named[0] ?? place.label,
    marks: named,
    ...(isCount(askedNs) && { askedNs }),
    ...(isCount(atNs) && { atNs }),
    vm,
    vcpus: each.toSorted((a, b) => compareIds(a.id, b.id)),
  })
}

function valuesOf(values: unknown, { problems, line }: Place): Map<string, StatValue> {
  const read = new Map<string, StatValue>()
  for (const [name, value] of isObject(values) ? Object.entries(values) : []) {
    if (isStatValue(value)) read.set(name, value)
    else problems.add('bad-value', line, name)
  }
  return read
}
