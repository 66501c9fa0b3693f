import t from 'tap'
import { luma } from '../../servers/videos/luma.ts'
import { checkCatalogue, checkStates, checkWire, wireFixture } from './video-jobs/wire.ts'

const { request = {}, generation = {} } = wireFixture('luma')
const models: string[] = request.properties.model.enum

t.test('Luma: every wish for every model', async t => {
  await checkWire(t, {
    api: luma,
    models,
    request: () => request,
    fields: { seconds: 'duration', seed: 'seed', sound: 'audio', sizes: ['aspect_ratio', 'resolution'], text: 'prompt' }
  })
  checkCatalogue(t, 'luma', models, () => request, null)
})

t.test('Luma: every state', async t => {
  await checkStates(t, luma, generation, {
    queued: 'queued', dreaming: 'running', completed: 'succeeded', failed: 'failed'
  }, 'state')
})
