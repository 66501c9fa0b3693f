import t from 'tap'
import { readDirective } from '../../../../services/providers/sandbox/directives.ts'
import { callOf, complete, reply, sandbox, stream } from './helper.ts'

const failures = [
  ['400', 'bad_request'], ['401', 'auth'], ['402', 'quota'], ['404', 'not_found'], ['413', 'too_large'], ['429', 'rate'],
  ['500', 'bad_reply'], ['503', 'overloaded'], ['timeout', 'timeout'], ['network', 'network'], ['moderated', 'moderated']
] as const

for (const [name, kind] of failures) {
  t.test(`fails with ${kind} on sandbox:error ${name}, streamed or not`, async t => {
    const status = /^\d+$/.test(name) ? { details: { status: Number(name) } } : {}
    await t.rejects(complete(`sandbox:error ${name}`), { name: 'UpstreamError', kind, ...status })
    await t.rejects(stream(` sandbox:error ${name}\n`), { name: 'UpstreamError', kind })
  })
}

t.test('sends a retry delay', async t => {
  await t.rejects(complete('sandbox:error 429'), {
    name: 'UpstreamError', details: { retryAfterMs: 1_000, code: 'rate_limit_exceeded' }
  })
})

t.test('replies to a text that only looks like a directive', async t => {
  for (const text of ['Please sandbox:error 500', 'sandbox:error 200', 'sandbox:error', 'sandbox:error constructor', 'sandbox:delay soon']) {
    t.match(await reply(text), /sandbox model|the sandbox/)
  }
})

t.test('breaks a stream after a few chunks', async t => {
  const answer = await sandbox.chat(callOf('sandbox:error mid-stream', { stream: true }))
  if (answer.kind !== 'chunks') throw new Error(answer.kind)
  let received = 0
  await t.rejects(async () => {
    for await (const chunk of answer.chunks) received += chunk.choices.length
  }, { name: 'UpstreamError', kind: 'network', sent: 'yes' })
  t.equal(received, 5)
  t.equal(answer.report.usage, null)
  await t.rejects(complete('sandbox:error mid-stream'), { name: 'UpstreamError', kind: 'network' })
})

t.test('delays the reply as requested', async t => {
  const startedAt = performance.now()
  t.match(await reply('sandbox:delay 50'), /sandbox/)
  t.ok(performance.now() - startedAt >= 49)
  t.equal(readDirective('sandbox:delay 99999999').delayMs, 600_000)
})

t.test('stops waiting when aborted', async t => {
  const aborter = new AbortController()
  const answer = sandbox.chat(callOf('sandbox:delay 60000', {}, aborter.signal))
  aborter.abort()
  await t.rejects(answer, { name: 'UpstreamError', kind: 'aborted' })
})
