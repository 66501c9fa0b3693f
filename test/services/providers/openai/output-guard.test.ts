import t from 'tap'
import { OutputGuard } from '../../../../services/providers/openai/output-guard.ts'

/** How many texts of a stream are passed on, each in an event of its own. */
function passed (guard: OutputGuard, texts: readonly string[]): number {
  const cut = texts.findIndex(text => guard.exceedsWith(text))
  return cut === -1 ? texts.length : cut
}

t.test('by event: a few more events than tokens pass', async t => {
  const events = Array.from({ length: 500 }, () => 'word ')
  t.equal(passed(new OutputGuard('by-event', 1, 1), events), 5)
  t.equal(passed(new OutputGuard('by-event', 160, 1), events), 174)
  t.equal(passed(new OutputGuard('by-event', 80, 2), events), 178, 'of two choices together')
  t.equal(passed(new OutputGuard('by-event', 500, 1), events), 500)
  t.equal(passed(new OutputGuard('by-event', 1, 1), Array.from({ length: 50 }, () => '')), 50, 'events without text count nothing')
})

t.test('by text: events that may be parts of tokens need the length of that many tokens too', async t => {
  const letters = Array.from({ length: 4000 }, () => 'x')
  t.equal(passed(new OutputGuard('by-text', 500, 1), letters), 4000, 'as long as 500 tokens can be')
  t.equal(passed(new OutputGuard('by-text', 100, 1), letters), 800)
  t.equal(passed(new OutputGuard('by-event', 100, 1), letters), 110)
})

t.test('a text that no number of tokens so small can have is cut, whatever its events', async t => {
  const long = Array.from({ length: 10 }, () => 'x'.repeat(1000))
  for (const kind of ['by-event', 'by-text'] as const) t.equal(passed(new OutputGuard(kind, 16, 1), long), 1)
  t.equal(passed(new OutputGuard('by-text', 16, 1), [' '.repeat(500)]), 1)
})

t.test('the closing events end the choices that are open', async t => {
  const guard = new OutputGuard('by-event', 1, 3)
  const ended = { index: 1, delta: {}, finish_reason: 'stop' }
  guard.noteFinished([ended])
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
