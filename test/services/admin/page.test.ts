import t from 'tap'
import { allPages, pageSize, placeAfter, toPage } from '../../../services/admin/page.ts'
import type { PageRequest } from '../../../services/admin/page.ts'
import { thrown } from '../../thrown.ts'

const numbers = Array.from({ length: 2_500 }, (_, index) => index + 1)

async function listNumbers (request: PageRequest) {
  const size = pageSize(request)
  const [after] = placeAfter(request, [0]) ?? [0]
  const rows = numbers.filter(number => number > after).slice(0, size + 1)
  return toPage(rows, size, { toItem: number => `#${number}`, place: number => [number] })
}

t.test('a list has as many items as were asked for, and says where it goes on', async t => {
  const first = await listNumbers({ limit: 2 })
  t.match(first, { object: 'list', data: ['#1', '#2'], has_more: true, next: String })
  t.match(await listNumbers({ limit: 2, after: first.next ?? '' }), { data: ['#3', '#4'] })
  t.equal((await listNumbers({})).data.length, 100)
})

t.test('the last page says so, also when it is full', async t => {
  const { next } = await listNumbers({ limit: 1000 })
  const second = await listNumbers({ limit: 1000, after: next ?? '' })
  t.match(await listNumbers({ limit: 500, after: second.next ?? '' }), { has_more: false, next: null })
})

t.test('all pages together are the list, each item once', async t => {
  const batches = await Array.fromAsync(allPages(listNumbers))
  t.same(batches.flat(), numbers.map(number => `#${number}`))
})

t.test('a page has 1 to 1000 items', async t => {
  for (const limit of [0, 1001, 1.5, NaN]) t.match(thrown(() => pageSize({ limit })), { status: 400, param: 'limit' })
})

t.test('a cursor that no page has given is refused', async t => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const wrong = ['', 'x', '%', encode(null), encode([]), encode(['1']), encode([1, 2]), encode([1.5]), encode({ 0: 1 })]
  for (const after of wrong) t.match(thrown(() => placeAfter({ after }, [0])), { status: 400, param: 'after' }, after)
})
