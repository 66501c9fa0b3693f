import t from 'tap'
import { tokensReserved } from '../../../../services/keys/limits/tokens.ts'

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
  for (const body of [null, 'text', 7, {}, { prompt: 'Hi', messages: 5 }]) t.equal(tokensReserved(body, 400), 0)
})

t.test('a response reserves its input and its longest answer; files in it are not text', async t => {
  t.equal(tokensReserved({ input: 'Hi' }, 400), 100)
  t.equal(tokensReserved({ input: 'Hi', max_output_tokens: 50 }, 400), 150)
  const data = 'a'.repeat(4000)
  const content = [
    { type: 'input_text', text: 'Hi' },
    { type: 'input_image', image_url: data },
    { type: 'input_image', file_id: 'f' },
    { type: 'input_file', file_data: data },
    { type: 'input_image', image_url: 'https://example.com/cat.png' }
  ]
  const output = [{ type: 'input_image', image_url: data }]
  const input = [{ role: 'user', content }, { type: 'function_call_output', output }, { type: 'reasoning' }]
  t.equal(tokensReserved({ input }, 12_400), 4100)
})

t.test('pictures and documents of the Messages API are not text', async t => {
  const data = 'a'.repeat(4000)
  const blocks = [
    { type: 'image', source: { type: 'base64', data } },
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    { type: 'document', source: { type: 'text', data } },
    { type: 'image', source: { type: 'file', file_id: 'f' } }
  ]
  t.equal(tokensReserved(chat(blocks), 8400), 3100)
})

t.test('what stands in results of tools, in documents and in files of chat is not text either', async t => {
  const data = 'a'.repeat(8000)
  const image = { type: 'image', source: { type: 'base64', data } }
  const blocks = [
    { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'Hi' }, image] },
    { type: 'tool_result', tool_use_id: 't', content: 'Hi' },
    { type: 'document', source: { type: 'content', content: [image] } },
    { type: 'document', source: { type: 'content', content: 'Hi' } }
  ]
  t.equal(tokensReserved(chat(blocks), 16_400), 2100)
  const parts = [{ type: 'file', file: { file_data: data } }, { type: 'video_url', video_url: { url: data } }]
  t.equal(tokensReserved(chat([...parts, { type: 'file', file: { file_id: 'f' } }]), 16_400), 2100)
})
