import t from 'tap'
import { allPages, readPage } from '../../../../services/operations/admin/page.ts'
import type { PageRequest } from '../../../../services/operations/admin/page.ts'

const numbers = Array.from({ length: 2_500 }, (_, index) => index + 1)

const listNumbers = async (request: PageRequest) => await readPage(request, {
  example: [0],
  read: async (after, limit) => numbers.filter(number => number > (after?.[0] ?? 0)).slice(0, limit),
  toItem: number => `#${number}`,
  cursorOf: number => [number]
})

t.test('a page has the requested size and says how to continue', async t => {
  const first = await listNumbers({ limit: 2 })
  t.match(first, { object: 'list', data: ['#1', '#2'], has_more: true, next: String })
  t.match(await listNumbers({ limit: 2, after: first.next ?? '' }), { data: ['#3', '#4'] })
  t.equal((await listNumbers({})).data.length, 100)
})

t.test('the last page says so, even if it is full', async t => {
  const { next } = await listNumbers({ limit: 1000 })
  const second = await listNumbers({ limit: 1000, after: next ?? '' })
  t.match(await listNumbers({ limit: 500, after: second.next ?? '' }), { has_more: false, next: null })
})

t.test('all pages together contain each item once', async t => {
  const batches = await Array.fromAsync(allPages(listNumbers))
  t.same(batches.flat(), numbers.map(number => `#${number}`))
})

t.test('the size of a page is 1 to 1000', async t => {
  const message = 'Invalid \'limit\': must be an integer from 1 to 1000.'
  const refusal = { name: 'GatewayError', status: 400, param: 'limit', message }
  for (const limit of [0, 1001, 1.5, NaN]) await t.rejects(listNumbers({ limit }), refusal)
})

t.test('a cursor that is not from a page of the list is refused', async t => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const wrong = ['', 'x', '%', encode(null), encode([]), encode(['1']), encode([1, 2]), encode([1.5]), encode({ 0: 1 })]
  for (const after of wrong) await t.rejects(listNumbers({ after }), { name: 'GatewayError', status: 400, param: 'after' }, after)
})
