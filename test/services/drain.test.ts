import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { answerThenDrain } from '../../services/drain.ts'

t.test('the answer is there at once and ends when the upload has ended', async t => {
  const upload = new PassThrough()
  const answer = answerThenDrain('No.', upload)
  t.equal(String((await once(answer, 'data'))[0]), 'No.')
  t.notOk(answer.readableEnded)
  upload.end(Buffer.alloc(1024 * 1024))
  await once(answer, 'end')
  t.ok(upload.readableEnded, 'nothing of the upload is left')
})

t.test('an upload that does not end is given up', async t => {
  const endless = Readable.from((function * () { while (true) yield Buffer.alloc(1024) })())
  t.equal(await text(answerThenDrain('No.', endless, { maxBytes: 10_000, maxMs: 60_000 })), 'No.')

  const silent = new PassThrough()
  t.equal(await text(answerThenDrain('No.', silent, { maxBytes: 10_000, maxMs: 20 })), 'No.')
  t.ok(silent.destroyed)
})

t.test('a client that goes away in the middle is no failure', async () => {
  const upload = new PassThrough()
  const answer = answerThenDrain('No.', upload)
  await once(answer, 'data')
  upload.destroy(new Error('aborted'))
  await once(answer, 'end')
})
