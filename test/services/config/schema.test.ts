import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { GatewayFile } from '../../../schemas/config/config.ts'
import { loadConfig } from '../../../services/config/load.ts'
import { configJsonSchema } from '../../../services/config/json-schema.ts'
import { dialects } from '../../../services/providers/openai/dialects.ts'

const root = join(import.meta.dirname, '../../..')
const read = (name: string) => readFileSync(join(root, name), 'utf8')

/** Every key and every description of an object in a schema. */
function keysOf (schema: unknown): { key: string, described: boolean }[] {
  if (typeof schema !== 'object' || schema === null) return []
  const properties: unknown = Reflect.get(schema, 'properties') ?? {}
  const own = Object.entries(properties ?? {}).map(([key, value]: [string, object]) => {
    return { key, described: 'description' in value }
  })
  return [...own, ...Object.values(schema).flatMap(keysOf)]
}

t.test('gateway.schema.json is up to date: npm run config:schema', async (t) => {
  t.equal(read('gateway.schema.json'), configJsonSchema())
})

t.test('every key has a description for editors', async (t) => {
  t.same(keysOf(JSON.parse(configJsonSchema())).filter(({ described }) => !described), [])
})

t.test('the example follows the published schema', async (t) => {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
  const validate = ajv.compile(JSON.parse(read('gateway.schema.json')))
  validate(parse(read('gateway.example.yaml')))
  t.same(validate.errors, null)
  t.notOk(validate({ modles: [] }))
})

t.test('the example loads', async (t) => {
  const config = await loadConfig({ path: join(root, 'gateway.example.yaml'), env: { OPENAI_API_KEY: 'x' } })
  t.match(config.models.map(({ id }) => id),
    ['gpt-4o-mini', 'llama-3.3-70b', 'flux-at-home', 'wan-2.2', 'sandbox-chat', 'sandbox-image'])
})

t.test('the example names its schema, and shows every key', async (t) => {
  const example = read('gateway.example.yaml')
  t.equal(example.split('\n', 1)[0], '# yaml-language-server: $schema=./gateway.schema.json')
  for (const key of new Set(keysOf(GatewayFile).map(({ key }) => key))) {
    t.match(example, new RegExp(`^[ #-]*(.*[{,] )?${key}:`, 'm'), key)
  }
})

t.test('every dialect of the schema exists', async (t) => {
  const { description, anyOf } = GatewayFile.properties.providers.items.properties.dialect
  t.ok(description)
  for (const { const: name } of anyOf) t.ok(Object.hasOwn(dialects, name), name)
})
