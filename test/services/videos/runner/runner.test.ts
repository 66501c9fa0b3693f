import t from 'tap'
import { createDatabase, forEachEngine } from '../../../helpers/engines.ts'
import { busy, createProvider, fileOf, lost, moderated, twoSeconds, unreachable } from '../provider.ts'
import { checkBooks, createMedia, jobsIn, openAccount, startStudio } from '../studio.ts'
import { until } from '../../../helpers/until.ts'

forEachEngine(t, 'a video is ordered once, copied, charged by its seconds and delivered', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const [provider, media] = [createProvider(), createMedia()]
  const { ask, ledger } = await startStudio(t, store, { makers: { up: provider }, media })
  const submitted = provider.nextSubmit()
  const asked = ask({ video: { seconds: 5 } })
  const handle = await submitted
  t.equal((await ledger.balance('paying')).heldNano, 500_000_000, 'its worst case is held')
  provider.set(handle, { state: 'running', progress: 40 })
  await until(async () => (await jobsIn(store))[0]?.progress === 40)
  provider.finish(handle)
  const { status, headers, body } = await asked
  t.equal(status, 200)
  const [job] = await jobsIn(store)
  t.equal(headers['x-tollgate-job-id'], job?.id)
  t.match(body, {
    object: 'chat.completion',
    model: 'film',
    choices: [{
      finish_reason: 'stop',
      message: {
        role: 'assistant',
        content: 'https://gateway.example/v1/media/media_0.mp4?sig=x',
        refusal: null,
        videos: [{
          type: 'video_url',
          video_url: { url: 'https://gateway.example/v1/media/media_0.mp4?sig=x' },
          mime_type: 'video/mp4',
          duration_seconds: 2,
          width: 96,
          height: 54,
          expires_at: Number,
          job_id: job?.id
        }]
      }
    }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0.2 }
  })
  t.equal(provider.submits.length, 1)
  t.strictSame(media.stored.get('media_0'), twoSeconds)
  t.match(await ledger.balance('paying'), { spentNano: 200_000_000, heldNano: 0 })
  await until(async () => (await jobsIn(store))[0]?.delivered === true)
  await checkBooks(t, store)
})

forEachEngine(t, 'what is known not to have arrived is sent again, or to the next provider', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const [one, other] = [createProvider(), createProvider()]
  one.submitErrors.push(unreachable())
  other.submitErrors.push(busy(), null)
  one.submitErrors.push(busy(), unreachable())
  const { ask } = await startStudio(t, store, { makers: { one, other } })
  const asked = ask()
  await until(() => other.submits.length === 1)
  other.finish(`video-${other.submits[0]?.submitKey}`)
  t.equal((await asked).status, 200)
  t.equal((await asked).headers['x-tollgate-provider'], 'other')
  t.equal(one.submits.length + other.submits.length, 1, 'one video was ordered')
  await checkBooks(t, store)
})

t.test('a refusal keeps its status, costs nothing, and is not repeated to the next provider', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const [one, other] = [createProvider(), createProvider()]
  one.submitErrors.push(moderated())
  const { ask, ledger } = await startStudio(t, store, { makers: { one, other } })
  const { status, headers, body } = await ask()
  t.equal(status, 400)
  t.match(body.error, { message: 'not this prompt', type: 'invalid_request_error', code: 'content_policy_violation' })
  t.equal(headers['x-should-retry'], 'false')
  t.equal(other.submits.length, 0)
  t.match(await ledger.balance('paying'), { spentNano: 0, heldNano: 0 })
  await checkBooks(t, store)
})

forEachEngine(t, 'a submit that may have arrived is never repeated: the client pays nothing, the operator hears of it', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const provider = createProvider()
  provider.beginsAllTheSame = true
  provider.submitErrors.push(lost())
  const { ask, ledger, logged } = await startStudio(t, store, { makers: { provider } })
  const { status, body } = await ask({ video: { seconds: 3 } })
  t.equal(status, 502)
  t.equal(body.error.code, 'upstream_submit_unknown')
  t.equal(provider.submits.length, 1)
  t.match(await ledger.balance('paying'), { spentNano: 0, heldNano: 0 })
  t.match(await store.all("select kind, debit, amount from entry where kind = 'suspense'"),
    [{ kind: 'suspense', debit: 'suspense', amount: 300_000_000 }])
  t.ok(logged.some(([level]) => level === 'error'))
  await checkBooks(t, store)
})

t.test('where the operator says so it is repeated, and it is where that makes one video only', async t => {
  for (const [abilities, settings, submits] of [
    [{}, { onAmbiguous: 'resubmit' as const }, 2], [{ submitsOnce: true }, {}, 2], [{ finds: true }, {}, 1]
  ] as const) {
    const store = await (await createDatabase(t, 'sqlite')).open()
    await openAccount(store)
    const provider = createProvider(abilities)
    provider.beginsAllTheSame = true
    provider.submitErrors.push(lost())
    const { ask } = await startStudio(t, store, { makers: { provider }, settings })
    const asked = ask()
    await until(() => provider.polls > 0)
    provider.finish(`video-${provider.submits[0]?.submitKey}`)
    t.equal((await asked).status, 200)
    t.equal(provider.submits.length, submits)
    t.equal(new Set(provider.submits.map(({ submitKey }) => submitKey)).size, 1, 'always under the same key')
    await checkBooks(t, store)
  }
})

t.test('a provider that looked for a job and has none is sent it again', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const provider = createProvider({ finds: true })
  provider.submitErrors.push(lost())
  const { ask } = await startStudio(t, store, { makers: { provider } })
  const asked = ask()
  await until(() => provider.submits.length === 1)
  provider.finish(`video-${provider.submits[0]?.submitKey}`)
  t.equal((await asked).status, 200)
})

t.test('polls that fail are borne; the deadline ends a job', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const provider = createProvider({ cancels: true })
  const { ask, ledger } = await startStudio(t, store, { makers: { provider } })
  const submitted = provider.nextSubmit()
  const asked = ask()
  const handle = await submitted
  provider.pollErrors.push(unreachable(), lost(), busy())
  await until(() => provider.pollErrors.length === 0)
  provider.finish(handle)
  t.equal((await asked).status, 200)

  Object.assign(provider.polling, { deadlineMs: 50 })
  const late = await ask({ messages: [{ role: 'user', content: 'a third' }] })
  t.match([late.status, late.body.error.code], [504, 'video_timeout'])
  t.equal(provider.cancels.length, 1)
  t.equal((await jobsIn(store)).at(-1)?.state, 'expired')
  t.equal((await ledger.balance('paying')).heldNano, 0)
  await checkBooks(t, store)
})

t.test('a failure in the end is the provider\'s, and free', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const provider = createProvider()
  const { ask } = await startStudio(t, store, { makers: { provider } })
  const submitted = provider.nextSubmit()
  const asked = ask()
  provider.set(await submitted, { state: 'failed', error: moderated() })
  t.match([(await asked).status, (await asked).body.error.code], [400, 'content_policy_violation'])
  await checkBooks(t, store)
})

t.test('why a video failed reaches its client, without what is the operator\'s', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const provider = createProvider()
  const { ask } = await startStudio(t, store, { makers: { provider } })
  const { UpstreamError } = await import('../../../../services/shared/errors.ts')
  const failures = [
    ['bad_reply', 'The face is hidden. See https://logs.corp.internal/7?key=abc', {},
      502, 'video_failed', 'The provider could not make the video: The face is hidden. See [server]'],
    ['bad_request', 'Image resolution is too small, minimum is 300x300', {}, 400, null, 'Image resolution is too small, minimum is 300x300'],
    ['moderated', 'Failure to pass the risk control system', { code: 'SAFETY.INPUT.TEXT' },
      400, 'content_policy_violation', 'Failure to pass the risk control system'],
    ['timeout', 'The job expired.', {}, 504, 'video_failed', 'The provider could not make the video: The job expired.'],
    ['auth', 'Key sk-1234567 is wrong.', { status: 401 }, 502, 'upstream_auth', 'The provider rejected the gateway\'s credentials (HTTP 401).']
  ] as const
  for (const [index, [kind, said, details, status, code, message]] of failures.entries()) {
    const submitted = provider.nextSubmit()
    const asked = ask({ messages: [{ role: 'user', content: `video ${index}` }] })
    provider.set(await submitted, { state: 'failed', error: new UpstreamError(kind, 'yes', said, details) })
    const answer = await asked
    t.match([answer.status, answer.body.error.code, answer.body.error.message], [status, code, message], kind)
  }
  await checkBooks(t, store)
})

t.test('what it costs is bound by what was held, and told where only the provider knows it', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const provider = createProvider()
  const { ask } = await startStudio(t, store, { makers: { provider } })
  const costOf = async (seconds: number, made: Parameters<typeof provider.finish>[1]) => {
    const submitted = provider.nextSubmit()
    const asked = ask({ video: { seconds }, messages: [{ role: 'user', content: JSON.stringify([seconds, made]) }] })
    provider.finish(await submitted, made)
    return (await asked).body.usage.cost
  }
  t.equal(await costOf(8, { seconds: 4.8 }), 0.48, 'seconds as the provider measured them')
  t.equal(await costOf(5, { seconds: 5.04 }), 0.5, 'never more than was asked for')
  t.equal(await costOf(5, {}), 0.2, 'else as the file says')
  t.equal(await costOf(5, { videos: [fileOf(Buffer.from('no video'))], costNano: 123_000_000 }), 0.123)
  t.equal(await costOf(5, { videos: [fileOf(Buffer.from('no video'))] }), 0.5)
  await checkBooks(t, store)
})
