import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createGateway } from 'tollgate'

test('the model is served whole and streamed, and charged by its usage', async t => {
  let key = ''
  const gateway = await createGateway({
    config: join(import.meta.dirname, 'gateway.yaml'),
    database: 'sqlite::memory:',
    media: tmpdir(),
    env: { TOLLGATE_STARTING_CREDIT: '1' },
    onFirstKey: first => { key = first }
  })
  t.after(() => gateway.close())
  const chat = (more: object) => gateway.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}` },
    payload: { model: 'parrot', messages: [{ role: 'user', content: 'one two three' }], ...more }
  })
  const { choices: [choice], usage } = (await chat({})).json()
  assert.equal(choice.message.content, 'one two three')
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, usage.cost], [3, 3, 0.000009])
  const { body } = await chat({ stream: true, stream_options: { include_usage: true } })
  assert.match(body, /"content":"three"/)
  assert.match(body, /"cost":0\.000009/)
})
