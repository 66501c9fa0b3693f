import t from 'tap'
import { tokensReserved } from '../../../services/limits/tokens.ts'

const chat = (content: unknown, more: object = {}) => ({ model: 'm', messages: [{ role: 'user', content }], ...more })

t.test('a chat request reserves a token per four bytes, and the longest answer of each choice', async t => {
  t.equal(tokensReserved(chat('Hi'), 400), 100)
  t.equal(tokensReserved(chat('Hi', { max_tokens: 50 }), 401), 151)
  t.equal(tokensReserved(chat('Hi', { max_completion_tokens: 50, n: 3 }), 400), 250)
})

t.test('a legacy completion without a limit reserves OpenAI\'s default', async t => {
  t.equal(tokensReserved({ model: 'm', prompt: 'Hi' }, 400), 116)
  t.equal(tokensReserved({ model: 'm', prompt: 'Hi', max_tokens: 5, n: 2 }, 400), 110)
})

t.test('inline media count as tokens of their own, not as text', async t => {
  const url = `data:image/png;base64,${'a'.repeat(3978)}`
  t.equal(url.length, 4000)
  const image = { type: 'image_url', image_url: { url } }
  const sound = { type: 'input_audio', input_audio: { data: 'a'.repeat(8000), format: 'wav' } }
  t.equal(tokensReserved(chat([{ type: 'text', text: 'Hi' }, image, sound]), 12_400), 2100)
  const linked = { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } }
  t.equal(tokensReserved(chat([linked]), 400), 1100)
})

t.test('other requests reserve nothing', async t => {
  for (const body of [null, 'text', 7, {}, { input: 'Hi' }, { prompt: 'Hi', messages: 5 }]) t.equal(tokensReserved(body, 400), 0)
})
