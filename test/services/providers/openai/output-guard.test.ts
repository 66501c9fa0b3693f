import t from 'tap'
import { OutputGuard } from '../../../../services/providers/openai/output-guard.ts'
import { PieceScan } from '../../../../services/providers/openai/piece-scan.ts'

const event = (content: string, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content }, ...more }] })}\n\n`

/** How many events of a stream are passed on, if each piece has `perPiece` of them. */
function passed (guard: OutputGuard, events: readonly string[], perPiece = 1): number {
  const scan = new PieceScan()
  for (let at = 0; at < events.length; at += perPiece) {
    const piece = Buffer.from(events.slice(at, at + perPiece).join(''))
    scan.scan(piece)
    const end = guard.endIn(piece, scan.texts)
    if (end !== -1) return at + piece.subarray(0, end).toString().split('\n\n').length - 1
  }
  return events.length
}

t.test('by event: a few more events than tokens pass, however they are cut into pieces', async t => {
  const events = Array.from({ length: 500 }, () => event('word '))
  for (const perPiece of [1, 7, 500]) {
    t.equal(passed(new OutputGuard('by-event', 1, 1), events, perPiece), 5)
    t.equal(passed(new OutputGuard('by-event', 160, 1), events, perPiece), 174)
    t.equal(passed(new OutputGuard('by-event', 80, 2), events, perPiece), 178, 'of two choices together')
    t.equal(passed(new OutputGuard('by-event', 500, 1), events, perPiece), 500)
  }
  const empty = [event(''), ...Array.from({ length: 50 }, () => event('', { delta: { role: 'assistant' } })), event('x')]
  t.equal(passed(new OutputGuard('by-event', 1, 1), empty), empty.length, 'events without text count nothing')
})

t.test('by text: events that may be parts of tokens need the length of that many tokens too', async t => {
  const letters = Array.from({ length: 4000 }, () => event('x'))
  t.equal(passed(new OutputGuard('by-text', 500, 1), letters), 4000, 'as long as 500 tokens can be')
  t.equal(passed(new OutputGuard('by-text', 100, 1), letters), 800)
  t.equal(passed(new OutputGuard('by-event', 100, 1), letters), 110)
})

t.test('a text that no number of tokens so small can have is cut, whatever its events', async t => {
  const long = Array.from({ length: 10 }, () => event('x'.repeat(1000)))
  for (const kind of ['by-event', 'by-text'] as const) t.equal(passed(new OutputGuard(kind, 16, 1), long), 1)
  t.equal(passed(new OutputGuard('by-text', 16, 1), [event(' '.repeat(500))]), 1)
})

t.test('the closing events end the choices that are open', async t => {
  const guard = new OutputGuard('by-event', 1, 3)
  const ended = { index: 1, delta: {}, finish_reason: 'stop' }
  const piece = Buffer.from(`data: ${JSON.stringify({ choices: [ended] })}\n\ndata: [DONE]\n\n`)
  t.equal(guard.endIn(piece, []), -1)
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{}], usage: null }
  const text = Buffer.concat(guard.closingEvents(head, { prompt: 2, completion: 3 })).toString()
  const [finish, usage, done] = text.split('\n\n').map(one => one.slice(6))
  const cut = { delta: {}, logprobs: null, finish_reason: 'length' }
  const { choices: _, usage: __, ...same } = head
  t.same(JSON.parse(finish ?? ''), { ...same, choices: [{ index: 0, ...cut }, { index: 2, ...cut }] })
  t.same(JSON.parse(usage ?? ''), {
    ...same, choices: [], usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 }
  })
  t.equal(done, '[DONE]')
  const legacy = guard.closingEvents({ id: 'c', object: 'text_completion', choices: [] }, null)
  t.match(legacy[0]?.toString(), '"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"length"}')
  t.equal(legacy.length, 2)
})

t.test('a choice that has ended before the cut, in the same piece, is not ended again', async t => {
  const guard = new OutputGuard('by-event', 1, 2)
  const ended = event('', { index: 1, delta: {}, finish_reason: 'stop' })
  const piece = Buffer.from(ended + event('x'.repeat(2000)))
  const scan = new PieceScan()
  scan.scan(piece)
  t.equal(guard.endIn(piece, scan.texts), ended.length)
  const [finish] = guard.closingEvents({ id: 'c', object: 'chat.completion.chunk' }, null)
  t.same(JSON.parse(finish?.toString('utf8', 'data: '.length) ?? '').choices.map(({ index }: { index: number }) => index), [0])
})
