import t from 'tap'
import { readModelList } from '../../../../services/providers/openai/model-list.ts'

const names = (list: unknown, prefix = ''): string[] => readModelList(list, prefix).map(({ name }) => name)

t.test('a list is read in every form', async t => {
  t.same(names({ object: 'list', data: [{ id: 'a' }, { id: 'b' }] }), ['a', 'b'])
  t.same(names({ models: [{ name: 'llama3:8b', model: 'llama3:8b' }, { name: 'models/x' }] }, 'models/'), ['llama3:8b', 'x'])
  t.same(names([{ id: 'meta-llama/llama', organization: 'Meta' }, 'plain']), ['meta-llama/llama', 'plain'])
})

t.test('what is no list has no models, and what is no model is left out', async t => {
  for (const list of [null, 'text', {}, { data: null }, { data: 'x' }, { models: {} }]) t.same(names(list), [], JSON.stringify(list))
  t.same(names([null, 5, [], {}, { id: 7 }, { id: 'x' }]), ['x'])
})

t.test('kinds are those that the server states', async t => {
  const kindOf = (row: object) => readModelList([{ id: 'm', ...row }], '')[0]?.stated.kind
  t.equal(kindOf({ type: 'language' }), 'chat')
  t.equal(kindOf({ type: 'transcribe' }), 'transcription')
  t.equal(kindOf({ type: 'embeddings' }), 'embedding')
  t.equal(kindOf({ type: 'model' }), undefined)
  t.equal(kindOf({ type: 'constructor' }), undefined)
  t.equal(kindOf({ architecture: { output_modalities: ['text'] } }), 'chat')
  t.equal(kindOf({ architecture: { output_modalities: ['text', 'audio'] } }), 'chat')
  t.equal(kindOf({ architecture: { output_modalities: ['text', 'image'] } }), 'image')
  t.equal(kindOf({ output_modalities: ['video', 'audio'] }), 'video')
  t.equal(kindOf({ architecture: { output_modalities: ['embeddings'] } }), 'embedding')
  t.equal(kindOf({ architecture: { output_modalities: [7] } }), undefined)
})

t.test('lengths are read with the names', async t => {
  t.match(readModelList([{ id: 'm', context_length: 4096 }], ''), [{ limits: { contextWindow: 4096 } }])
})
