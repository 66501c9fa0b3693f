import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { createApp } from './app.ts'

test('the shop and the gateway serve side by side', async () => {
  let key = ''
  const app = await createApp({ database: 'sqlite::memory:', media: tmpdir(), onFirstKey: first => { key = first } })
  try {
    assert.deepEqual((await app.inject('/prices')).json(), [{ article: 'bridge', price: 9 }])
    assert.deepEqual((await app.inject('/v1/models')).json(), { shop: 'no such page' })
    const completion = await app.inject({
      method: 'POST',
      url: '/ai/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      payload: { model: 'gpt-4o', messages: [{ role: 'user', content: 'What is a bridge?' }] }
    })
    assert.equal(completion.json().model, 'sandbox-chat')
    assert.match((await app.inject('/ai/v1/nothing')).json().error.message, /Invalid URL/)
  } finally {
    await app.close()
  }
})
