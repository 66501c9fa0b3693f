import t from 'tap'
import { hintFor } from '../../../services/models/missing-hint.ts'

const names = () => ['openai/gpt-4.1-mini', 'gpt-4.1-mini', 'auto']

t.test('a typo gets the nearest name', async t => {
  t.equal(hintFor('gpt-4.1-mni', undefined, names), 'Did you mean `gpt-4.1-mini`?')
  t.equal(hintFor('openai/gpt-4.1-mni', undefined, names), 'Did you mean `openai/gpt-4.1-mini`?')
  t.equal(hintFor('atuo', undefined, names), 'Did you mean `auto`?')
  t.equal(hintFor('something-else', undefined, names), '')
  t.equal(hintFor('x'.repeat(600), undefined, names), '')
})

t.test('a model that cannot be served is said to be what it is', async t => {
  t.equal(hintFor('tts-1', 'speech', names), 'It makes speech; no endpoint of this gateway serves that.')
  t.equal(hintFor('sora-2', 'video', names), 'It makes videos; its provider has no API for that here.')
  t.equal(hintFor('x', 'other', names), 'No endpoint of this gateway serves it.')
})
