import t from 'tap'
import { minimax } from '../../servers/videos/minimax.ts'
import { checkCatalogue, checkStates, checkWire, wireFixture, type Form, type WireSchema } from './video-jobs/wire.ts'

const { answer = {}, ...requests } = wireFixture('minimax')
const models = ['MiniMax-H3', 'MiniMax-H3-Max']

const request = (model: string, form: Form): WireSchema =>
  requests[`${model}, ${form === 'text' ? 'text' : 'frames'}`] ?? {}

t.test('MiniMax: every wish for every model', async t => {
  await checkWire(t, {
    api: minimax,
    models,
    request,
    fields: { seconds: 'duration', seed: 'seed', sound: 'audio', sizes: ['ratio', 'resolution'], text: 'prompt' }
  })
  checkCatalogue(t, 'minimax', models, request, null)
})

t.test('MiniMax: every state', async t => {
  await checkStates(t, minimax, answer, {
    queued: 'queued',
    running: 'running',
    succeeded: 'succeeded',
    failed: 'failed',
    expired: 'failed',
    cancelled: 'cancelled'
  }, 'task.status')
})
