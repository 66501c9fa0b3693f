import t from 'tap'
import { extractValues } from '../../../../services/providers/sandbox/prompt-values.ts'
import { sampleSchema } from '../../../../services/providers/sandbox/sample-schema.ts'
import { processorMs } from '../../../helpers/processor-time.ts'
import { ajv } from './helper.ts'

const strict = (properties: Record<string, object>): object =>
  ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })

const nested = (levels: number): object => levels === 0 ? { type: 'string' } : strict({ a: nested(levels - 1) })

const tree = { type: 'object', properties: { left: { $ref: '#' }, value: { type: 'string' } }, required: ['value'] }
const list = {
  $defs: { node: strict({ value: { type: 'number' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }) },
  $ref: '#/$defs/node'
}

const schemas: Record<string, object> = {
  'no keyword': {},
  'a constant': { const: { fixed: [1, null] } },
  'an enumeration': { enum: [3, 'three', null] },
  'a constrained default': { type: 'string', enum: ['a', 'b'], default: 'b' },
  'several types': { type: ['null', 'integer'] },
  null: { type: 'null' },
  'a closed object': strict({ name: { type: 'string' }, age: { type: 'integer', minimum: 18, maximum: 19 } }),
  'an object without required properties': { properties: { on: { type: 'boolean' }, when: { format: 'date' } } },
  'required properties that are not listed': { type: 'object', required: ['a', '__proto__'] },
  'a map': { type: 'object', minProperties: 3, additionalProperties: { type: 'integer' } },
  'few properties': { properties: { a: {}, b: {}, c: {} }, maxProperties: 2 },
  'numbers between bounds': strict({
    exclusive: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
    negative: { type: 'integer', maximum: -5 },
    tens: { type: 'integer', multipleOf: 10, minimum: 15 },
    quarters: { type: 'number', multipleOf: 0.25, exclusiveMinimum: 1 },
    exact: { type: 'number', minimum: 0.5, maximum: 0.5 },
    whole: { type: 'integer', minimum: 0.2, maximum: 1.9 },
    oldest: { type: 'number', minimum: 2.5 }
  }),
  'strings of a length': strict({
    long: { type: 'string', minLength: 40 }, short: { type: 'string', maxLength: 3 }, empty: { type: 'string', maxLength: 0 }
  }),
  'every format': strict(Object.fromEntries([
    'date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'url', 'uri-reference', 'uri-template',
    'uuid', 'json-pointer', 'relative-json-pointer', 'regex', 'byte'
  ].map(format => [format, { type: 'string', format }]))),
  patterns: strict({
    code: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}$' }, long: { type: 'string', pattern: '^[a-z]+$', minLength: 12 }
  }),
  'arrays of a length': strict({
    three: { type: 'array', items: { type: 'string' }, minItems: 3 },
    none: { type: 'array', items: { type: 'string' }, maxItems: 0 },
    unique: { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
    numbers: { type: 'array', items: { type: 'integer', minimum: 3 }, minItems: 4, uniqueItems: true }
  }),
  'a tuple': { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
  'objects in arrays in objects': strict({ rows: { type: 'array', items: strict({ cells: { items: { type: 'null' } } }) } }),
  alternatives: { anyOf: [{ type: 'null' }, strict({ kind: { const: 'a' } })] },
  'exactly one alternative': { oneOf: [strict({ kind: { const: 'a' } }), strict({ kind: { const: 'b' } })] },
  'alternatives beside properties': {
    type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, anyOf: [{ required: ['b'] }]
  },
  'all of several': {
    allOf: [
      { type: 'object', properties: { a: { type: 'integer', minimum: 3 } }, required: ['a'] },
      { properties: { a: { maximum: 4 }, b: { enum: ['x', 'y'] } }, required: ['b'] },
      { properties: { b: { enum: ['y', 'z'] } } }
    ]
  },
  'references with escapes': {
    definitions: { 'a/b~c d': { type: 'boolean' } }, ...strict({ on: { $ref: '#/definitions/a~1b~0c%20d' } })
  },
  'bounds on one side': strict({
    unixTime: { type: 'integer', minimum: 1_700_000_000 }, depth: { type: 'number', maximum: -5_000 }
  }),
  'a nullable enumeration': strict({ unit: { type: ['string', 'null'], enum: ['a', 'b', null] } }),
  'referenced alternatives': {
    $defs: { text: strict({ kind: { const: 'text' } }), count: strict({ kind: { const: 'count' }, n: { type: 'integer' } }) },
    ...strict({ item: { anyOf: [{ $ref: '#/$defs/text' }, { $ref: '#/$defs/count' }] } })
  },
  'as many unique items as there are values': {
    type: 'array', uniqueItems: true, minItems: 5, items: { type: 'integer', minimum: 1, maximum: 5 }
  },
  'twenty levels': nested(20),
  'a recursive object': tree,
  'a recursive list': list,
  'a forest': { type: 'array', items: tree, minItems: 2 },
  'a recursive array': { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } }, required: ['children'] }
}

const texts = ['', 'Set the age to 19 and name it "Ada" on 2026-03-04, see https://example.org/a?b=1 and a@b.example', 'b, y, 7']

for (const [name, schema] of Object.entries(schemas)) {
  t.test(`satisfies a schema with ${name}`, async t => {
    const validate = ajv.compile(schema)
    for (const text of texts) {
      for (const variant of [0, 1, 2, 127]) {
        const value: unknown = JSON.parse(JSON.stringify(sampleSchema(schema, extractValues(text), variant)))
        t.ok(validate(value), `${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`)
      }
    }
  })
}

t.test('uses values of the prompt where they fit', async t => {
  const schema = strict({
    city: { type: 'string' },
    unit: { enum: ['celsius', 'fahrenheit'] },
    days: { type: 'integer', maximum: 10 },
    ratio: { type: 'number' },
    from: { type: 'string', format: 'date' },
    contact: { type: 'string', format: 'email' },
    tags: { type: 'array', items: { type: 'string' } }
  })
  const text = 'Weather in Paris for 14 or 3 days from 2026-05-01 in Fahrenheit to ada@example.org, tagged "hot" and "dry"'
  const { city, tags, ...rest } = Object(sampleSchema(schema, extractValues(text), 0))
  t.same(rest, { unit: 'fahrenheit', days: 3, ratio: 14, from: '2026-05-01', contact: 'ada@example.org' })
  t.equal(city, 'hot', 'a quotation takes precedence over a name')
  t.same(tags, ['dry'])
  t.match(sampleSchema(strict({ city: { type: 'string' } }), extractValues('the weather in New York, please'), 0), { city: 'New York' })
  t.match(sampleSchema(strict({ city: { type: 'string' } }), extractValues('weather in paris'), 0), { city: 'paris' })
  t.match(sampleSchema(strict({ query: { type: 'string' } }), extractValues('old maps'), 0), { query: 'old maps' })
})

t.test('reads a value as one kind only', async t => {
  const schema = strict({ guests: { type: 'integer' } })
  t.match(sampleSchema(schema, extractValues('On 2026-05-01 at https://example.org:8080/9, for 12 people'), 0), { guests: 12 })
})

t.test('a schema that requires itself has a value of bounded depth', async t => {
  const itself = { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }
  const lists = { type: 'array', minItems: 1, items: { $ref: '#' } }
  for (const schema of [itself, lists]) {
    const text = JSON.stringify(sampleSchema(schema, extractValues('Hello'), 0))
    t.match(text.match(/[[{]/g)?.length, 256)
  }
})

t.test('omits recursive optional properties', async t => {
  const schema = { type: 'object', properties: { next: { $ref: '#' }, value: { type: 'string' } } }
  t.strictSame(Object.keys(Object(sampleSchema(schema, extractValues('the next one'), 0))), ['value'])
})

t.test('adds an optional property only if the prompt mentions it', async t => {
  const schema = { type: 'object', properties: { name: {}, limit: { type: 'integer', default: 10 } }, required: ['name'] }
  t.strictSame(Object.keys(Object(sampleSchema(schema, extractValues('all of them'), 0))), ['name'])
  t.match(sampleSchema(schema, extractValues('with a limit of 5'), 0), { limit: 5 })
})

t.test('is bounded in size and time for exploding schemas', async t => {
  const wide = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`l${i}`, {
    type: 'array', minItems: 100, items: { $ref: `#/$defs/l${i + 1}` }
  }]))
  const doubled = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`d${i}`, {
    allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }]
  }]))
  let deep: object = { type: 'string' }
  for (let i = 0; i < 250; i++) deep = { type: 'array', minItems: 2, items: deep }
  const monsters = [
    { $defs: wide, $ref: '#/$defs/l0' },
    { $defs: doubled, $ref: '#/$defs/d0' },
    { $ref: '#' },
    { allOf: [{ $ref: '#' }] },
    { type: 'object', properties: { again: { $ref: '#' } }, required: ['again'] },
    { type: 'string', minLength: 1e9 },
    { type: 'array', minItems: 1e9 },
    deep
  ]
  for (const schema of monsters) {
    const startedMs = processorMs()
    const text = JSON.stringify(sampleSchema(schema, extractValues(''), 0))
    t.ok(text.length < 100_000, `${text.length} characters`)
    t.ok(processorMs() - startedMs < 2000)
  }
})

t.test('accepts invalid schemas', async t => {
  for (const schema of [true, false, null, 5, 'x', [], { type: 5 }, { enum: [] }, { $ref: 'https://example.com/a' },
    { $ref: '#/nowhere' }, { properties: 1, required: 'a', type: 'object' }, { anyOf: [] }, { pattern: '(' },
    { type: 'array', items: 3 }, { $ref: '#/%E0%A4%A' }]) {
    t.doesNotThrow(() => JSON.stringify(sampleSchema(schema, extractValues('in Rome'), 0)), JSON.stringify(schema))
  }
})
