/* eslint no-template-curly-in-string: off -- the syntax of the file */
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { strict, usd, usdPerMillion } from '../../../../schemas/config/fields.ts'
import { toParsed } from '../../../../services/config/read/to-parsed.ts'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { parseYaml } from '../../../../services/config/yaml/document.ts'
import { amounts, notAmounts } from '../../../helpers/amount-cases.ts'

const schema = Type.Object({
  first_byte_ms: Type.Integer(),
  input: Type.Optional(usdPerMillion('tokens')),
  ceiling: Type.Optional(usd('request')),
  headers: Type.Record(Type.String(), Type.String()),
  parts: Type.Optional(Type.Array(Type.Object({ further_part: Type.Optional(usd('part')) }, strict)))
})

const minimal = { first_byte_ms: 1, headers: { 'x-a_b': 'c' } }

t.test('keys become camelCase, except those of a record, and absent ones null', async t => {
  t.same(toParsed(schema, minimal),
    { firstByteMs: 1, inputPico: null, ceilingNano: null, headers: { 'x-a_b': 'c' }, parts: null })
})

t.test('money becomes an integer in the unit of its key, also in lists', async t => {
  const prices = { input: 0.15, ceiling: '0.000000001', parts: [{ further_part: 2 }, {}] }
  const parts = [{ furtherPartNano: 2_000_000_000 }, { furtherPartNano: null }]
  t.match(toParsed(schema, { ...minimal, ...prices }), { inputPico: 150_000, ceilingNano: 1, parts })
})

t.test('money in the file follows the one rule, plain, quoted or from the environment', async t => {
  const forms = ['AMOUNT', '"AMOUNT"', '${AMOUNT}']
  const lowBalance = (text: string, form: string): number | null => {
    const file = `alerts:\n  low_balance: ${form === '${AMOUNT}' ? form : form.replace('AMOUNT', text)}\n`
    return parseConfig(file, { AMOUNT: text }).alerts.lowBalanceNano
  }
  for (const form of forms) {
    for (const [text, nano] of amounts) t.equal(lowBalance(text, form), nano, `${text} in ${form}`)
    for (const [text] of notAmounts) {
      t.throws(() => lowBalance(text, form), /low_balance: must be a (plain )?decimal number such as 0\.15/, `${text} in ${form}`)
    }
  }
})

t.test('money is read from the digits of the file, and reported if it is not an exact integer', async t => {
  const text = '{ input: 9007199.254740, ceiling: 9007199.254740991, parts: [{ further_part: 1e-10 }] }'
  const document = parseYaml(text, {})
  const value = { ...minimal, input: 1, ceiling: 1, parts: [{ further_part: 1 }] }
  t.match(toParsed(schema, value, { document, path: [] }),
    { inputPico: 9_007_199_254_740, ceilingNano: 9_007_199_254_740_991, parts: [{ furtherPartNano: 0 }] })
  const message = /from 0 to 9007199 with at most 9 decimals/
  t.match(document.problems(), [{ path: 'parts[0].further_part', message }])
})
