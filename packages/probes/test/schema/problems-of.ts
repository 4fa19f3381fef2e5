import { readFileSync } from 'node:fs'
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js'

/** Checks values against `schema/NAME.schema.json`, as they are in JSON: gives what does not fit. */
export function problemsOf(name: string): (value: unknown) => string[] {
  const file = new URL(`../../schema/${name}.schema.json`, import.meta.url)
  const validate = new Ajv2020({ allErrors: true }).compile(JSON.parse(readFileSync(file, 'utf8')) as AnySchemaObject)
  return (value) => {
    if (validate(JSON.parse(JSON.stringify(value))) === true) return []
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`)
  }
}
