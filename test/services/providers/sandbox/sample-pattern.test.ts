import t from 'tap'
import { samplePattern } from '../../../../services/providers/sandbox/sample-pattern.ts'

const patterns = [
  '^[A-Z]{3}-\\d{4}$', '^(foo|bar)+$', '^[^a-z]+$', '^\\+?[1-9]\\d{1,14}$', '^\\p{Lu}\\p{Ll}+$', '^#(?:[0-9a-f]{3}){1,2}$',
  '^\\d{4}-(0[1-9]|1[0-2])$', '^[\\w.-]+@[\\w-]+\\.com$', '^\\u0041\\x42+$', '^.{5,}$', '^[-a]{2}$', '^[\\]\\-]$', '^\\S\\s\\D\\W$',
  '^(?<year>\\d{4})(?!x)$', '^a*b?c{0}d{2,}e{1,3}?$', '^[^\\w\\s]$', '^\\t\\n\\.$', '^🦊{2}[🐱-🦊]$', '\\bword\\b', '^[^]$'
]

for (const pattern of patterns) {
  t.test(`generates a text that matches ${pattern}`, async t => {
    t.match(samplePattern(pattern), new RegExp(pattern, pattern === '^[^]$' ? '' : 'u'))
  })
}

t.test('extends repetitions to the minimum length', async t => {
  t.match(samplePattern('^[a-z]+$', 12), /^[a-z]{12}$/)
  t.match(samplePattern('^x[a-z]*$', 5), /^x[a-z]{4}$/)
})

t.test('is bounded for invalid and exploding expressions', async t => {
  for (const pattern of ['(', '[', '\\', '[a-', '(?<', 'a{1000000000}', '((((a{999}){999}){999}){999})', '\\p{Nonsense}',
    '('.repeat(1_000), 'a'.repeat(1_001)]) {
    t.ok(samplePattern(pattern).length <= 10_000, pattern.slice(0, 30))
  }
})
