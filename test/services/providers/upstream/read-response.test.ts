import t from 'tap'
import {
  isEventStream, masked, objectOf, parseResponse, retryAfterMsOf
} from '../../../../services/providers/upstream/read-response.ts'
import { thrown } from '../../../helpers/thrown.ts'

t.test('retry-after is read as seconds, as a date and in ms', t => {
  t.equal(retryAfterMsOf({ 'retry-after': '7' }), 7000)
  t.equal(retryAfterMsOf({ 'retry-after': '0.5' }), 500)
  t.equal(retryAfterMsOf({ 'retry-after': '7', 'retry-after-ms': '250' }), 250, 'the more exact one counts')
  const inMs = retryAfterMsOf({ 'retry-after': new Date(Date.now() + 90_000).toUTCString() }) ?? 0
  t.ok(inMs > 85_000 && inMs <= 90_000)
  t.equal(retryAfterMsOf({ 'retry-after': new Date(0).toUTCString() }), 0, 'a time that has passed')
  for (const headers of [
    { 'retry-after': '9'.repeat(400) }, { 'retry-after-ms': 'Infinity' }, { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }
  ]) t.equal(retryAfterMsOf(headers), 86_400_000, 'at most a day')
  for (const value of ['soon', '', undefined, ['1', '2']]) t.equal(retryAfterMsOf({ 'retry-after': value }), undefined)
  t.end()
})

t.test('a body must be JSON, and an object', async t => {
  t.same(objectOf(await parseResponse('{"a":1}')), { a: 1 })
  await t.rejects(parseResponse('{'), { kind: 'bad_reply', message: 'The provider\'s answer is not valid JSON.' })
  for (const value of [[], null, 'x']) {
    t.match(thrown(() => objectOf(value)), { kind: 'bad_reply', message: 'The provider\'s answer is not a JSON object.' })
  }
})

t.test('a short key, as local servers have, does not spoil words', t => {
  t.equal(masked('Thinking takes k tokens; key k.', 'k'), 'Thinking takes *** tokens; key ***.')
  t.equal(masked('sesame, opensesame', 'sesame'), '***, opensesame')
  t.equal(masked('k(1) and (k(1))', 'k(1)'), '*** and (***)')
  for (const placeholder of ['none', 'EMPTY', 'no-key', '']) {
    t.equal(masked(`There are ${placeholder} empty slots, none of no-key.`, placeholder), `There are ${placeholder} empty slots, none of no-key.`)
  }
  t.end()
})

t.test('a key is masked wherever it stands', t => {
  t.equal(masked('sk-1 and sk-1', 'sk-1'), '*** and ***')
  t.equal(masked('sk-1', null), 'sk-1')
  t.end()
})

t.test('an event stream is known by its type', t => {
  t.ok(isEventStream({ headers: { 'content-type': 'Text/Event-Stream; charset=utf-8' } }))
  for (const type of ['application/json', undefined]) t.notOk(isEventStream({ headers: { 'content-type': type } }))
  t.end()
})
