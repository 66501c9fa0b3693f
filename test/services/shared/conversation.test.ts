import t from 'tap'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import type { CompletionRequest } from '../../../schemas/openai/completions.ts'
import { conversationHint, conversationId } from '../../../services/shared/conversation.ts'
import { processorMs } from '../../helpers/processor-time.ts'

const system: ChatMessage = { role: 'system', content: 'You are helpful.' }
const hello: ChatMessage = { role: 'user', content: 'Hello' }

function idOf (messages: ChatMessage[], more: Partial<ChatCompletionRequest> = {}, header: string | null = null, key = 'key') {
  return conversationId(key, { model: 'm', messages, ...more }, header)
}

const image = (data: string): ChatMessage => ({
  role: 'user',
  content: [{ type: 'text', text: 'What is this?' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }]
})

t.test('all turns of a conversation have one id', async t => {
  const first = idOf([system, hello])
  t.equal(idOf([system, hello, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'And?' }]), first)
  t.equal(idOf([system, { role: 'user', content: [{ type: 'text', text: 'Hello' }] }]), first, 'a text may become a part')
  const marked: ChatMessage = {
    role: 'system',
    content: [{ type: 'text', text: 'You are helpful.', ...{ cache_control: { type: 'ephemeral' } } }]
  }
  t.equal(idOf([marked, hello]), first, 'marks for a cache move from turn to turn')
})

t.test('other conversations have other ids', async t => {
  const ids = [
    idOf([system, hello]),
    idOf([system, hello], {}, null, 'another key'),
    idOf([hello]),
    idOf([system, { role: 'user', content: 'Hello.' }]),
    idOf([{ role: 'developer', content: 'You are kind.' }, hello]),
    idOf([system, { role: 'user', content: 'x'.repeat(5000) }]),
    idOf([system, { role: 'user', content: 'x'.repeat(5001) }]),
    idOf([image(`${'A'.repeat(5000)}1`)]),
    idOf([image(`${'A'.repeat(5000)}2`)]),
    idOf([{ role: 'user', content: [{ type: 'file', file: { file_id: 'one' } }] }]),
    idOf([{ role: 'user', content: [{ type: 'file', file: { file_id: 'two' } }] }]),
    idOf([{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'QQ==', format: 'wav' } }] }]),
    idOf([{ role: 'user', content: [{ type: 'video_url', video_url: { url: 'https://a.test/b.mp4' } }] }]),
    idOf([hello], { prompt_cache_key: 'Hello' }),
    idOf([hello], {}, 'name')
  ]
  t.equal(new Set(ids).size, ids.length)
})

t.test('a name counts before the messages, prompt_cache_key before a header', async t => {
  const named = idOf([hello], { prompt_cache_key: 'mine' })
  t.equal(idOf([system], { prompt_cache_key: 'mine' }, 'header'), named)
  t.equal(idOf([system], {}, 'mine'), named)
  t.equal(idOf([system], { prompt_cache_key: '' }, 'mine'), named)
})

t.test('a prompt that grows keeps its id once its beginning is long enough', async t => {
  const promptId = (prompt: CompletionRequest['prompt']) => conversationId('key', { model: 'm', prompt }, null)
  const story = 'Once upon a time. '.repeat(200)
  t.equal(promptId(`${story} And then.`), promptId(story))
  t.equal(promptId([story]), promptId(story))
  t.not(promptId('Hello'), promptId('Bye'))
  t.not(promptId([1, 2, 3]), promptId([1, 2, 4]))
  t.equal(promptId([[1, 2, 3], [4]]), promptId([1, 2, 3]))
  t.equal(promptId(null), promptId(null))
})

t.test('a name is not shown to providers, and two keys with one name differ there', async t => {
  const request = { model: 'm', messages: [hello] }
  const hint = conversationHint('key', request, 'alice@example.org')
  t.match(hint, /^[0-9a-f]{32}$/)
  t.equal(conversationHint('key', { ...request, prompt_cache_key: 'alice@example.org' }, null), hint)
  t.not(conversationHint('another key', request, 'alice@example.org'), hint)
  t.equal(conversationHint('key', request, null), null)
})

t.test('megabytes are not read', async t => {
  const long = 'x'.repeat(20_000_000)
  const many = Array.from({ length: 100_000 }, (): ChatMessage => ({ role: 'system', content: long }))
  const startedMs = processorMs()
  for (let n = 0; n < 20; n++) idOf(many)
  t.ok(processorMs() - startedMs < 4000)
})
