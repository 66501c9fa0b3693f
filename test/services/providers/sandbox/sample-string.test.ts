import t from 'tap'
import { extractValues } from '../../../../services/providers/sandbox/prompt-values.ts'
import { sampleString } from '../../../../services/providers/sandbox/sample-string.ts'
import { ajv } from './helper.ts'

const formats = [
  'date', 'date-time', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'url', 'uri-reference',
  'uri-template', 'uuid', 'json-pointer', 'relative-json-pointer', 'regex', 'byte'
]

t.test('a string has the format that its schema asks for, and another value for each variant', t => {
  for (const format of formats) {
    const validate = ajv.compile({ type: 'string', format })
    const values = [0, 1, 2].map(variant => sampleString({ format }, 'field', extractValues(''), variant))
    for (const value of values) t.ok(validate(value), `${format}: ${value}`)
    t.equal(new Set(values).size, values.length, format)
  }
  t.end()
})

t.test('addresses and dates of the prompt come first, in the formats that take them', t => {
  const prompt = 'Invite ann@example.org on 2027-05-06, see https://example.org/party'
  const sampled = (format: string) => sampleString({ format }, 'field', extractValues(prompt), 0)
  for (const format of ['email', 'idn-email']) t.equal(sampled(format), 'ann@example.org', format)
  for (const format of ['uri', 'url', 'iri']) t.equal(sampled(format), 'https://example.org/party', format)
  t.equal(sampled('date'), '2027-05-06')
  t.match(sampled('date-time'), /^2027-05-06T/)
  for (const format of ['idn-hostname', 'iri-reference']) t.notMatch(sampled(format), 'example.org', format)
  t.end()
})
