import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { costs, maxDepth, maxJsonCost } from '../../../services/shared/json-bounds.ts'
import { JsonText, largeBytes } from '../../../services/shared/json.ts'
import { thrown } from '../../helpers/thrown.ts'
import { anyCharacter } from '../../helpers/any-character.ts'

const parse = (text: string) => JsonText.parse(Buffer.from(text))
const edit = (text: string, edits: Record<string, unknown>) =>
  Buffer.from(parse(text).with(new Map(Object.entries(edits)))).toString()

t.test('without edits the very bytes come back', async t => {
  const bytes = Buffer.from(' {"model" : "a", "messages":[ ]}\n')
  t.equal(JsonText.parse(bytes).with(new Map()), bytes)
})

t.test('a changed text is serialized again: spaces, escapes and spellings of numbers are JavaScript\'s', async t => {
  t.equal(edit('{"temperature":1.0e0, "model":"a","x":"\\u00e9"}', { model: 'b' }), '{"temperature":1,"model":"b","x":"é"}')
  t.equal(edit('{"seed":9007199254740993,"model":"a"}', { model: 'b' }), '{"seed":9007199254740992,"model":"b"}')
  t.equal(edit('{"seed":9007199254740993}', {}), '{"seed":9007199254740993}', 'as it was written')
})

t.test('members are added and left out', async t => {
  t.equal(edit('{"a":1,"b":[2,{"a":3}]}', { a: undefined, c: { d: null } }), '{"b":[2,{"a":3}],"c":{"d":null}}')
  t.equal(edit('{}', { a: 1 }), '{"a":1}')
  t.equal(edit('{"a":1,"b":2}', { a: undefined, b: undefined }), '{}')
  t.equal(edit('{"a":1}', { ä: '€' }), '{"a":1,"ä":"€"}')
})

t.test('of a name that stands twice, however it is spelled, only the last value reaches the upstream', async t => {
  const long = 'x'.repeat(largeBytes)
  for (const more of ['', `,"long":"${long}"`]) {
    const end = more === '' ? '' : `,"long":"${long}"`
    t.equal(edit(`{"model":"cheap","n":1,"mod\\u0065l":"dear"${more}}`, {}), `{"model":"dear","n":1${end}}`)
    t.equal(edit(`{"mod\\u0065l":"dear","model":"cheap"${more}}`, { model: 'x' }), `{"model":"x"${end}}`)
    const inner = (limits: string): string => `{"thinking":{${limits}},"tools":[{"a":":"}]${more}}`
    t.equal(edit(inner('"budget":1,"budget":9'), {}), inner('"budget":9'), 'within a member too')
    const bytes = Buffer.from(inner('"budget": 9'))
    t.equal(JsonText.parse(bytes).with(new Map()), bytes, 'colons in texts are no members')
  }
})

t.test('the text after any edits parses to the edited value', async () => {
  const json = fc.json()
  const object = fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue())
  fc.assert(fc.property(object, object, fc.integer({ min: 0, max: 3 }), (value, edits, indent) => {
    const changed = edit(JSON.stringify(value, null, indent), edits)
    return isDeepStrictEqual(JSON.parse(changed), JSON.parse(JSON.stringify({ ...value, ...edits })))
  }), { numRuns: 300 })
  const same = fc.property(json, text => isDeepStrictEqual(parse(text).value, JSON.parse(text)))
  fc.assert(same, { numRuns: 200 })
})

t.test('a byte order mark is no part of the text, so no provider gets it', async t => {
  const { value, bytes } = parse('\ufeff{"a":1}')
  t.same(value, { a: 1 })
  t.equal(bytes.toString(), '{"a":1}')
  t.equal(edit('\ufeff{"a":1,"b":2}', { b: 3 }), '{"a":1,"b":3}')
})

t.test('what is not JSON is a 400', async t => {
  for (const text of ['', '{', '{"a":1}x', 'nul', '{"a":}', '\ufeff', '\ufeff\ufeff{}', '\uff5b{}']) {
    t.match(thrown(() => parse(text)), { status: 400, type: 'invalid_request_error' }, text)
  }
  t.match(thrown(() => JsonText.parse(Buffer.from([0x22, 0xff, 0x22]))), { status: 400 }, 'invalid UTF-8')
})

t.test('nesting has a limit', async t => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  for (const spaces of [0, largeBytes]) {
    const padded = (depth: number): string => nested(depth) + ' '.repeat(spaces)
    t.doesNotThrow(() => parse(padded(maxDepth - 1)))
    t.match(thrown(() => parse(padded(maxDepth))), { status: 400 })
    t.match(thrown(() => parse(padded(100_000))), { status: 400 })
  }
  t.match(thrown(() => parse(nested(1_000_000))), { status: 400 })
})

t.test('prototype keys are ordinary data, halves of surrogate pairs are replaced', async t => {
  const text = '{"__proto__":{"polluted":true},"a":"\\ud800"}'
  t.equal(edit(text, { b: 1 }), '{"__proto__":{"polluted":true},"a":"\ufffd","b":1}')
  const names = '{"\\ud800":["\\uDC00",{"b":"\\ud83d\\ude00"}]}'
  t.equal(edit(names, { b: 1 }), '{"\ufffd":["\ufffd",{"b":"\u{1f600}"}],"b":1}')
  t.equal(parse('{"b":"\\ud83d\\ude00"}').bytes.toString(), '{"b":"\\ud83d\\ude00"}', 'whole pairs pass as they came')
  t.notOk('polluted' in {})
})

t.test('the number of values of a large body has a limit, counted before any is made', async t => {
  const lists = (count: number) => `{"a":[${'{},'.repeat(count)}0]}`
  t.doesNotThrow(() => parse(lists(100_000)))
  for (const text of [lists(maxJsonCost / costs.container), `{"a":[${'1,'.repeat(maxJsonCost / costs.item)}1]}`, `"${'\\n'.repeat(maxJsonCost + 1)}"`, `[${'"",'.repeat(maxJsonCost)}`, '{"a":'.repeat(200) + '"a":0,'.repeat(maxJsonCost)]) {
    t.match(thrown(() => parse(text)), { status: 413, code: 'request_too_large' }, text.slice(0, 20))
  }
  for (const [escape, cost] of [['\\ud83d', costs.surrogate], ['\\uDE00', costs.surrogate], ['\\ud55c', costs.escape]] as const) {
    const count = maxJsonCost / cost
    t.doesNotThrow(() => parse(`"${escape.repeat(count - costs.text)}"`), escape)
    t.match(thrown(() => parse(`"${escape.repeat(count + 1)}"`)), { status: 413 }, escape)
  }
  t.doesNotThrow(() => parse(JSON.stringify({ a: '{[,:}]'.repeat(maxJsonCost) })), 'signs within a text are not values')
})

t.test('a string ends where JSON says, wherever its backslashes stand', async t => {
  for (let length = 0; length < 140; length++) {
    for (const end of ['"', '\\', '\\"', '\\\\', 'é', '"\\"']) {
      const value = { a: 'x'.repeat(length) + end, b: [end, { c: end }], [`${length}${end}`]: 1 }
      t.same(JSON.parse(edit(JSON.stringify(value), { d: 2 })), { ...value, d: 2 })
    }
  }
})

t.test('members are taken out of text and value', async t => {
  const text = parse('{"a":1,"b":[2],"a":3, "c":4}').without(['b'])
  t.same([text.value, Buffer.from(text.bytes).toString()], [{ a: 3, c: 4 }, '{"a":3,"c":4}'])
  t.equal(text.without(['none']), text)
  t.equal(text.with(new Map()), text.bytes)
  const none = text.without(['none', 'a', 'c'])
  t.same([none.value, Buffer.from(none.bytes).toString()], [{}, '{}'])
})
